package config

import (
	"fmt"
	"os"
	"path/filepath"
)

// CheckKubeconfig returns an error if the variable KUBECONFIG names files and none of them exists.
// The client library ignores missing files, and then reports that nothing was configured.
func CheckKubeconfig(lookupEnv func(string) (string, bool)) error {
	const key = "KUBECONFIG"
	value, ok := lookupEnv(key)
	if !ok || value == "" {
		return nil
	}
	for _, file := range filepath.SplitList(value) {
		if _, err := os.Stat(file); err == nil {
			return nil
		}
	}
	return fmt.Errorf("%s=%s: there is no such file", key, value)
}
