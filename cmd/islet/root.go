package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "islet",
		Short: "Run Kubernetes pods on this machine from manifests, without an API server",
		Long: `islet runs Kubernetes pods on one machine from manifests, with no API server.
Drop a manifest into its directory and Docker runs it; edit it, and what changed
is done; remove it, and the pod ends.

Exit codes: 0 good, 1 something was refused or is not as wanted, 2 wrong usage,
3 islet or the engine cannot be reached.`,
		Version:       versionInfo()["version"],
		SilenceErrors: true, // report prints them
		SilenceUsage:  true,
	}
	root.AddCommand(
		newRunCommand(), newStatusCommand(), newWhyCommand(), newValidateCommand(), newDownCommand(), newVersionCommand(),
	)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = knownCommand
		case "completion":
			cmd.Args = cobra.ArbitraryArgs
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				if len(args) > 0 {
					return fmt.Errorf("no completion for %q; there is one for bash, zsh, fish and powershell", args[0])
				}
				return cmd.Help()
			}
		}
	}
	return root
}

// knownCommand refuses help on what there is not; cobra would explain the
// whole program instead and call that success.
func knownCommand(cmd *cobra.Command, args []string) error {
	if _, _, err := cmd.Root().Find(args); err != nil {
		return err
	}
	return nil
}

func newRunCommand() *cobra.Command {
	opts := defaultRunOptions()
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the pods of a manifests directory until told to stop",
		Long: `Runs the pods of a manifests directory (or of one file) on the Docker Engine of
this machine, until SIGINT or SIGTERM. The pods keep running then, and the next
run takes them over; --stop-pods-on-exit or 'islet down' stops them.`,
		Example: `  islet run
  islet run --pod-manifest-path ./manifests.d --root-dir ./.islet`,
		Args: noArgs("; name manifests with --pod-manifest-path"),
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error {
			if err := opts.Validate(); err != nil {
				return usageError(err)
			}
			return runIslet(cmd.Context(), opts, cmd.OutOrStdout(), cmd.ErrOrStderr())
		}),
	}
	opts.addFlags(cmd)
	return cmd
}

func newDownCommand() *cobra.Command {
	opts := defaultDownOptions()
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop the pods of this islet, each with its grace, and then islet",
		Long: `Stops every pod of this islet, each with its own grace period, and then islet
itself. Manifests stay where they are: the next run starts the pods again.

--all does so for every islet that has pods on the engine, and needs no state of
theirs. --purge also removes what islet keeps when no pod runs: its network, its
pause image and the root-dir. Both ask first; --yes answers.`,
		Args: noArgs("; it stops all pods: remove the manifest of a pod to stop that one"),
		RunE: interruptible(func(cmd *cobra.Command, _ []string) error {
			if err := opts.Validate(); err != nil {
				return usageError(err)
			}
			return downIslet(cmd.Context(), opts, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		}),
	}
	opts.addFlags(cmd)
	return cmd
}
