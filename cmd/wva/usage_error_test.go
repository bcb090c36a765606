package main

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestWrongUsageSaysWhatIsAccepted(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"explain", "x", "--manager"}, "flag needs an argument: --manager: base URL of the manager's metrics port (default: WVA_MANAGER); see wva explain --help"},
		{[]string{"explain", "x", "--managr", "y"}, "unknown flag: --managr, did you mean --manager? See wva explain --help"},
		{[]string{"explain", "x", "--colour"}, "unknown flag: --colour; see wva explain --help"},
		{[]string{"explain", "x", "-z"}, "unknown shorthand flag: 'z' in -z; see wva explain --help"},
		{[]string{"queue", "--rate", "fast"}, `"--rate" flag: strconv.ParseFloat: parsing "fast": invalid syntax; see wva queue --help`},
		{[]string{"explian", "x"}, `there is no command "wva explian", did you mean explain? See wva --help`},
		{[]string{"config", "chek"}, `there is no command "wva config chek", did you mean check? See wva config --help`},
		{[]string{"zzz"}, `there is no command "wva zzz"; see wva --help`},
	} {
		root := newRootCommand()
		root.SetArgs(tt.args)
		root.SetOut(io.Discard)
		root.SetErr(io.Discard)
		if err := root.ExecuteContext(t.Context()); !errors.Is(err, errUsage) || !strings.HasSuffix(err.Error(), tt.want) {
			t.Errorf("%q: %v, want bad usage that ends with %q", tt.args, err, tt.want)
		}
	}
}
