package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
)

// watchInterval is how often status -w asks.
const watchInterval = time.Second

type statusOptions struct {
	rootDir string
	output  outputFormat
	watch   bool
}

func newStatusCommand() *cobra.Command {
	var opts statusOptions
	cmd := &cobra.Command{
		Use:   "status [POD]",
		Short: "Show what runs, from which file, and what was refused",
		Long: `Shows every pod with the file and line it comes from, and every document that
was refused. A pod that runs from the last good copy of a document that is bad
now says so. POD is a name, or namespace/name outside of default.

Exit code 0 means that everything is as wanted: each pod has succeeded or runs
and is ready, and no document is refused; 1 that something is not; 3 that islet
or the engine cannot be reached.

-o json prints {"manifests": [...], "pods": {a v1.PodList}}, the answers of
GET /manifests and GET /pods, and "notReady": "..." while islet waits for the
engine or has not read every source.`,
		Example: `  islet status
  islet status web -o json
  islet status -w`,
		Args:              onePod(0),
		ValidArgsFunction: completePods(&opts.rootDir),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			view := statusView{client: newClient(opts.rootDir), output: opts.output, stdout: cmd.OutOrStdout(), stderr: cmd.ErrOrStderr()}
			if len(args) > 0 {
				pod, err := parsePodName(args[0])
				if err != nil {
					return usageError(err)
				}
				view.pod = &pod
			}
			if opts.watch {
				return view.watch(cmd.Context())
			}
			return view.once(cmd.Context())
		}),
	}
	addRootDir(cmd, &opts.rootDir)
	addOutput(cmd, &opts.output)
	cmd.Flags().BoolVarP(&opts.watch, "watch", "w", false, "print again on every change, until interrupted")
	return cmd
}

// statusView shows the status of all pods, or of one.
type statusView struct {
	client         *client
	pod            *podName // nil: all
	output         outputFormat
	stdout, stderr io.Writer
}

func (v *statusView) once(ctx context.Context) error {
	report, err := v.fetch(ctx)
	if err != nil {
		return err
	}
	rows := statusRows(report)
	if err := v.print(report, rows, time.Now()); err != nil {
		return err
	}
	return verdict(report, rows)
}

// watch prints the status now and after each change until ctx ends. Its end is
// the verdict on what it printed last. An islet that goes away meanwhile is
// said once and waited for.
func (v *statusView) watch(ctx context.Context) error {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	var last []byte
	var result error
	for first, away := true, false; ; first = false {
		report, err := v.fetch(ctx)
		switch {
		case ctx.Err() != nil && !first:
			return result
		case err != nil && (first || !errors.Is(err, errUnreachable)):
			return err
		case err != nil:
			if !away {
				fmt.Fprintf(v.stderr, "islet: %s\n", err)
			}
			away, result = true, &exitError{code: exitUnreachable}
		default:
			away = false
			rows := statusRows(report)
			if seen := v.fingerprint(report, rows); first || !bytes.Equal(seen, last) {
				if err := v.printAgain(first, report, rows); err != nil {
					return err
				}
				last = seen
			}
			result = verdict(report, rows)
		}
		select {
		case <-ctx.Done():
			return result
		case <-tick.C:
		}
	}
}

func (v *statusView) printAgain(first bool, report statusReport, rows []statusRow) error {
	if !first && !v.output.json() {
		if _, err := fmt.Fprintln(v.stdout); err != nil {
			return fmt.Errorf("print: %w", err)
		}
	}
	return v.print(report, rows, time.Now())
}

// fingerprint is what has to differ for watch to print again: all that is
// printed but the ages.
func (v *statusView) fingerprint(report statusReport, rows []statusRow) []byte {
	var seen bytes.Buffer
	if v.output.json() {
		_ = printJSON(&seen, report) // a buffer takes everything; what cannot be encoded fails in print
		return seen.Bytes()
	}
	fmt.Fprintf(&seen, "%q\n", report.NotReady)
	for _, row := range rows {
		fmt.Fprintf(&seen, "%q\n", row.cells(time.Time{}))
	}
	return seen.Bytes()
}

func (v *statusView) fetch(ctx context.Context) (statusReport, error) {
	manifests, err := v.client.Manifests(ctx)
	if err != nil {
		return statusReport{}, err
	}
	pods, err := v.client.Pods(ctx)
	if err != nil {
		return statusReport{}, err
	}
	ready, err := v.client.Ready(ctx)
	if err != nil {
		return statusReport{}, err
	}
	report := statusReport{Manifests: manifests.Items, Pods: pods, NotReady: ready.message, engineAway: ready.engineAway}
	if v.pod == nil {
		return report, nil
	}
	part := report.only(*v.pod)
	if len(part.Manifests)+len(part.Pods.Items) == 0 {
		return statusReport{}, noSuchPod(*v.pod, knownPods(report.Manifests, report.Pods.Items))
	}
	return part, nil
}

func (v *statusView) print(report statusReport, rows []statusRow, now time.Time) error {
	if v.output.json() {
		return printJSON(v.stdout, report)
	}
	if report.NotReady != "" {
		fmt.Fprintf(v.stderr, "islet is not ready, what it shows may be old: %s\n", report.NotReady)
	}
	if len(rows) == 0 {
		fmt.Fprintln(v.stderr, "No pods and no refused documents. Put a manifest into the directory that islet run was given.")
		return nil
	}
	table := [][]string{statusHeader}
	for _, row := range rows {
		table = append(table, row.cells(now))
	}
	return printTable(v.stdout, table)
}

// verdict is the end of the command: what was printed decides it.
func verdict(report statusReport, rows []statusRow) error {
	switch {
	case report.engineAway:
		return &exitError{code: exitUnreachable}
	case report.NotReady != "", slices.ContainsFunc(rows, func(row statusRow) bool { return !row.good }):
		return notAsWanted()
	}
	return nil
}
