package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// completionPatience bounds what a press of the tab key may wait for islet.
const completionPatience = time.Second

// addOutput adds -o and its completion.
func addOutput(cmd *cobra.Command, format *outputFormat) {
	*format = "text"
	cmd.Flags().VarP(format, "output", "o", "text or json")
	completeWith(cmd, "output", "text", "json")
}

// completeWith completes the values of a flag.
func completeWith(cmd *cobra.Command, flag string, values ...string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// completePods completes the name of a pod from a running islet; without one
// there is nothing to offer.
func completePods(rootDir *string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
		defer cancel()
		known, err := newClient(*rootDir).podNames(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []cobra.Completion
		for _, pod := range known {
			for _, form := range pod.forms() {
				if strings.HasPrefix(form, typed) {
					names = append(names, form)
					break // one form of each is enough
				}
			}
		}
		slices.Sort(names)
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
