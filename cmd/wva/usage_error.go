package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/llm-d-incubation/workload-variant-autoscaler/internal/spelling"
)

// flagError says what is wrong with a flag, and what the command accepts instead.
func flagError(command *cobra.Command, err error) error {
	help := command.CommandPath() + " --help"
	if missing, ok := errors.AsType[*pflag.ValueRequiredError](err); ok && missing.GetFlag() != nil {
		return fmt.Errorf("%w: %w: %s; see %s", errUsage, err, missing.GetFlag().Usage, help)
	}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		var names []string
		command.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := spelling.Nearest(strings.TrimLeft(unknown.GetSpecifiedName(), "-"), names); near != "" {
			return fmt.Errorf("%w: %w, did you mean --%s? See %s", errUsage, err, near, help)
		}
	}
	return fmt.Errorf("%w: %w; see %s", errUsage, err, help)
}

// noCommand says that command has no subcommand with a name, and which name is the nearest.
func noCommand(command *cobra.Command, name string) error {
	var names []string
	for _, c := range command.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	said, help := fmt.Sprintf("there is no command %q", command.CommandPath()+" "+name), command.CommandPath()+" --help"
	if near := spelling.Nearest(name, names); near != "" {
		return fmt.Errorf("%w: %s, did you mean %s? See %s", errUsage, said, near, help)
	}
	return fmt.Errorf("%w: %s; see %s", errUsage, said, help)
}
