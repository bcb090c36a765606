package emulator

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is the minor number of the vLLM release 0.x whose metrics page the emulator shows, in
// [10, 32].
type Version int

// The supported releases, and the default one.
const (
	oldestVersion  Version = 10
	newestVersion  Version = 32
	DefaultVersion Version = 20
)

// ParseVersion reads a release such as "0.20", "v0.10" or "0.11.2".
func ParseVersion(s string) (Version, error) {
	parts := strings.Split(strings.TrimPrefix(s, "v"), ".")
	if len(parts) >= 2 && parts[0] == "0" {
		if minor, err := strconv.Atoi(parts[1]); err == nil && Version(minor) >= oldestVersion && Version(minor) <= newestVersion {
			return Version(minor), nil
		}
	}
	return 0, fmt.Errorf("vLLM version is %q, want a release from 0.%d to 0.%d", s, oldestVersion, newestVersion)
}

// String returns the release, "0.20".
func (v Version) String() string { return fmt.Sprintf("0.%d", int(v)) }
