package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersionCommand() *cobra.Command {
	var output outputFormat
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print what this program is",
		Long: `Prints the version of this program and what it was built from. -o json prints
{"version", "commit", "date", "modified", "go", "platform"}, all of them strings;
what is not known is left out.`,
		Args: noArgs(""),
		RunE: plain(func(cmd *cobra.Command, _ []string) error {
			info := versionInfo()
			if output.json() {
				return printJSON(cmd.OutOrStdout(), info)
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), versionLine(info))
			return err
		}),
	}
	addOutput(cmd, &output)
	return cmd
}

// versionInfo is what the Go tool recorded of the build: of `go install` the
// module version, of a build in a clone the commit.
func versionInfo() map[string]string {
	info := map[string]string{
		"version":  "(devel)",
		"go":       runtime.Version(),
		"platform": runtime.GOOS + "/" + runtime.GOARCH,
	}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	info["version"] = cmp.Or(build.Main.Version, info["version"])
	for _, setting := range build.Settings {
		switch {
		case setting.Value == "":
		case setting.Key == "vcs.revision":
			info["commit"] = setting.Value
		case setting.Key == "vcs.time":
			info["date"] = setting.Value
		case setting.Key == "vcs.modified":
			info["modified"] = setting.Value
		}
	}
	return info
}

func versionLine(info map[string]string) string {
	line := "islet " + info["version"]
	if commit := info["commit"]; commit != "" {
		line += " commit " + commit
		if info["modified"] == "true" {
			line += " (modified)"
		}
		if info["date"] != "" {
			line += " of " + info["date"]
		}
	}
	return line + " " + info["go"] + " " + info["platform"]
}
