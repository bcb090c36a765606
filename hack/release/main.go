package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := &cobra.Command{Use: "release", Short: "Make what a release consists of", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(newImageCommand(), newPushCommand(), newUnpackCommand(), newAllCommand(), newSignCommand(), newVerifyCommand())
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

// imageFile is where an image is kept, below the folder of the release.
const imageFile = "image.tar"

func newImageCommand() *cobra.Command {
	var out, name string
	var platforms []string
	c := &cobra.Command{
		Use: "image", Short: "Build the manager's image as an OCI archive", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := readSource(c.Context(), "")
			if err != nil {
				return err
			}
			targets, err := parsePlatforms(platforms)
			if err != nil {
				return err
			}
			return s.image(c.Context(), out, name, targets)
		},
	}
	c.Flags().StringVarP(&out, "out", "o", "", "the archive to write")
	c.Flags().StringVar(&name, "name", "", "what the image is called in the archive, as NAME:TAG")
	c.Flags().StringSliceVar(&platforms, "platform", []string{"linux/amd64", "linux/arm64"}, "what it is for")
	must(c.MarkFlagRequired("out"))
	must(c.MarkFlagRequired("name"))
	return c
}

func newPushCommand() *cobra.Command {
	var plain bool
	c := &cobra.Command{
		Use: "push ARCHIVE NAME:TAG", Short: "Push an OCI archive to a registry, with the credentials of docker login", Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error { return push(c.Context(), args[0], args[1], plain) },
	}
	c.Flags().BoolVar(&plain, "plain-http", false, "speak HTTP without TLS to the registry")
	return c
}

func newUnpackCommand() *cobra.Command {
	var on string
	c := &cobra.Command{
		Use: "unpack ARCHIVE FOLDER", Short: "Write the files of an OCI archive into a folder", Args: cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			targets, err := parsePlatforms([]string{on})
			if err != nil {
				return err
			}
			return unpackImage(args[0], args[1], targets[0])
		},
	}
	c.Flags().StringVar(&on, "platform", "linux/"+runtime.GOARCH, "whose files")
	return c
}

func newAllCommand() *cobra.Command {
	var out, version string
	c := &cobra.Command{
		Use: "all", Short: "Make everything of a release", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := readSource(c.Context(), version)
			if err != nil {
				return err
			}
			return s.release(c.Context(), out)
		},
	}
	c.Flags().StringVarP(&out, "out", "o", "dist", "the folder to write to")
	c.Flags().StringVar(&version, "version", "", "the version, as v1.2.3; without it, what git describe says")
	return c
}

func newSignCommand() *cobra.Command {
	var key, version string
	c := &cobra.Command{
		Use: "sign FOLDER", Short: "Sign where the files of a release come from, by the workflow of GitHub that runs it or by a key", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			s, err := readSource(c.Context(), version)
			if err != nil {
				return err
			}
			var by signer
			if key != "" {
				by, err = byKey(key)
			} else {
				by, err = byWorkflow(c.Context(), os.Getenv)
			}
			if err != nil {
				return err
			}
			return by.sign(c.Context(), s, args[0])
		},
	}
	c.Flags().StringVar(&key, "key", "", "the private key to sign with, in PEM (PKCS #8, ECDSA on P-256); without it, the identity of the workflow")
	c.Flags().StringVar(&version, "version", "", "the version, as v1.2.3; without it, what git describe says")
	return c
}

func newVerifyCommand() *cobra.Command {
	var key, version, from string
	c := &cobra.Command{
		Use: "verify FILE...", Short: "Verify that files are of a release, by its provenance", Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if (key == "") == (version == "") {
				return errors.New("want one of --version, for what the release workflow signed, and --key")
			}
			trusting, who := verifierByKey, key
			if key == "" {
				trusting, who = verifierByWorkflow, version
			}
			by, err := trusting(who)
			if err != nil {
				return err
			}
			return by.files(from, args)
		},
	}
	c.Flags().StringVar(&key, "key", "", "the public key that the release was signed with, in PEM")
	c.Flags().StringVar(&version, "version", "", "the version whose workflow signed it, as v1.2.3")
	c.Flags().StringVar(&from, "provenance", provenanceFile, "the provenance of the release")
	return c
}

// must panics on an error, which only a mistake in this program causes.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
