package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
)

// stubborn is the program of that name of the scripts: a command that notices
// a signal and does not end for it. Its exit code after a second one is that
// of the signal.
func stubborn() {
	cmd := &cobra.Command{
		SilenceUsage: true, SilenceErrors: true,
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			fmt.Println("begun")
			<-cmd.Context().Done()
			fmt.Println(context.Cause(cmd.Context()))
			if len(args) > 0 {
				return cmd.Context().Err()
			}
			<-time.After(sameSignal) // scenario: a second signal counts only after this
			fmt.Println("still here")
			select {}
		}),
	}
	os.Exit(report(os.Stderr, "stubborn", cmd.ExecuteContext(context.Background())))
}
