package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/islet-run/islet/httpapi"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"
)

func newWhyCommand() *cobra.Command {
	var rootDir string
	var output outputFormat
	cmd := &cobra.Command{
		Use:   "why POD",
		Short: "Tell the story of a pod: its file, what it waits for, what happened and why",
		Long: `Tells where a pod comes from, what islet thinks of that document, what the pod
waits for, and what happened to it and for which reason, oldest first. POD is a
name, or namespace/name outside of default.

-o json prints the answer of GET /why/{namespace}/{name}.`,
		Example: `  islet why web
  islet why monitoring/exporter -o json`,
		Args:              onePod(1),
		ValidArgsFunction: completePods(&rootDir),
		RunE: interruptible(func(cmd *cobra.Command, args []string) error {
			pod, err := parsePodName(args[0])
			if err != nil {
				return usageError(err)
			}
			why, err := askWhy(cmd.Context(), newClient(rootDir), pod)
			if err != nil {
				return err
			}
			if output.json() {
				return printJSON(cmd.OutOrStdout(), why)
			}
			return printWhy(cmd.OutOrStdout(), why, time.Now())
		}),
	}
	addRootDir(cmd, &rootDir)
	addOutput(cmd, &output)
	return cmd
}

// askWhy returns the story of a pod. A name that never became a pod may still
// be that of a refused document, and then that is the story.
func askWhy(ctx context.Context, c *client, pod podName) (*httpapi.Why, error) {
	why, err := c.Why(ctx, pod)
	if !isNotFound(err) {
		return why, err
	}
	manifests, err := c.Manifests(ctx)
	if err != nil {
		return nil, err
	}
	pods, err := c.Pods(ctx)
	if err != nil {
		return nil, err
	}
	report := statusReport{Manifests: manifests.Items, Pods: pods}
	part := report.only(pod)
	if len(part.Manifests) == 0 {
		if of := refusedFile(pod.name, manifests.Items); of != nil {
			return nil, fmt.Errorf("no pod %s; the file of that name is refused: %s: %s", pod, place(of.Path, of.Line), joined(of.Reason, of.Message))
		}
		return nil, noSuchPod(pod, knownPods(report.Manifests, report.Pods.Items))
	}
	return &httpapi.Why{Namespace: pod.namespace, Name: pod.name, Manifests: part.Manifests, Events: []httpapi.Event{}}, nil
}

// refusedFile returns a refused document of a file that has the name, with or
// without its ending: a text that cannot be read has no other name to ask for.
func refusedFile(name string, manifests []httpapi.Manifest) *httpapi.Manifest {
	for i := range manifests {
		m := &manifests[i]
		file := base(m.Path)
		if refused(*m) && (file == name || strings.TrimSuffix(file, filepath.Ext(file)) == name) {
			return m
		}
	}
	return nil
}

func printWhy(w io.Writer, why *httpapi.Why, now time.Time) error {
	var text strings.Builder
	fmt.Fprintf(&text, "Pod %s/%s\n", clean(why.Namespace), clean(why.Name))
	field := func(name, value string) { fmt.Fprintf(&text, "  %-10s %s\n", name, value) }
	field("phase", cmp.Or(clean(why.Phase), "none: it does not run"))
	if why.UID != "" {
		field("uid", clean(why.UID))
	}
	field("waits for", cmp.Or(clean(why.Waiting), "nothing"))
	if len(why.Manifests) == 0 {
		field("document", "none asks for it")
	}
	for i := range why.Manifests {
		m := &why.Manifests[i]
		field("document", describeDocument(m, now))
		if about := joined(m.Reason, m.Message); about != "" {
			field("", about)
		}
		for _, warning := range m.Warnings {
			field("", joined("warning", warning.Message))
		}
		if m.Digest != "" {
			field("digest", clean(m.Digest))
		}
	}
	if _, err := io.WriteString(w, text.String()+"\n"); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if len(why.Events) == 0 {
		_, err := fmt.Fprintln(w, "Nothing has happened to it yet.")
		return err
	}
	return printTable(w, eventTable(why.Events, now))
}

// describeDocument says which document it is and what islet thinks of it.
func describeDocument(m *httpapi.Manifest, now time.Time) string {
	where := clean(m.Source)
	if m.Path != "" {
		where = place(m.Path, m.Line)
	}
	if m.Document > 1 {
		where += fmt.Sprintf(" (document %d)", m.Document)
	}
	verdict := clean(m.Verdict)
	if !m.Since.IsZero() {
		verdict += " for " + duration.HumanDuration(max(0, now.Sub(m.Since)))
	}
	if m.LastGood && m.Verdict != httpapi.VerdictHeld {
		verdict += ", its last good copy stands in"
	}
	return where + ": " + verdict
}

func eventTable(events []httpapi.Event, now time.Time) [][]string {
	table := [][]string{{"TIME", "AGE", "TYPE", "REASON", "CONTAINER", "MESSAGE"}}
	for _, e := range events {
		message := clean(e.Message)
		if e.Count > 1 {
			message += fmt.Sprintf(" (%d times)", e.Count)
		}
		table = append(table, []string{
			e.Time.Local().Format(time.RFC3339), duration.HumanDuration(max(0, now.Sub(e.Time))),
			orNothing(clean(e.Type)), orNothing(clean(e.Reason)), orNothing(clean(e.Container)), message,
		})
	}
	return table
}
