package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/islet-run/islet/httpapi"
	"github.com/islet-run/islet/manifests"
	"github.com/spf13/cobra"
)

func newValidateCommand() *cobra.Command {
	var output outputFormat
	cmd := &cobra.Command{
		Use:   "validate FILE|DIR|- ...",
		Short: "Say what islet would make of manifests; needs no engine",
		Long: `Reads manifests as islet run does and says of every document, at file:line, what
would become of it: accepted, rejected (and why), or in conflict with another
document of the same directory that has its name. - reads standard input. Of a
directory the .yaml, .yml and .json files are read, not those below it.

Exit code 0 means that every document is accepted, 1 that one is not, 2 that an
argument names nothing that could be read.

-o json prints {"items": [...]} with the fields of GET /manifests.`,
		Example: `  islet validate web.yaml
  islet validate /etc/kubernetes/manifests
  helm template chart | islet validate -`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("name a file, a directory, or - for standard input")
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return []cobra.Completion{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: plain(func(cmd *cobra.Command, args []string) error {
			reader := manifestReader{stdin: cmd.InOrStdin(), note: func(format string, args ...any) {
				fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...)
			}}
			texts, err := reader.readAll(args)
			if err != nil {
				return usageError(err)
			}
			verdicts := judge(texts)
			if output.json() {
				err = printJSON(cmd.OutOrStdout(), httpapi.ManifestList{Items: verdicts})
			} else {
				err = printVerdicts(cmd.OutOrStdout(), cmd.ErrOrStderr(), verdicts)
			}
			if err != nil {
				return err
			}
			if slices.ContainsFunc(verdicts, refused) {
				return notAsWanted()
			}
			return nil
		}),
	}
	addOutput(cmd, &output)
	return cmd
}

func refused(m httpapi.Manifest) bool { return m.Verdict != httpapi.VerdictAccepted }

// judge decodes texts and settles who holds which name. The verdicts are in
// the order of the texts; names go by the order of paths, as in islet run.
func judge(texts []manifestText) []httpapi.Manifest {
	verdicts := []httpapi.Manifest{} // [] in JSON, not null
	var claims []claim
	for _, text := range texts {
		if text.err != nil {
			verdicts = append(verdicts, httpapi.Manifest{
				Source: text.source, Path: text.path, Verdict: httpapi.VerdictRejected,
				Reason: "Unreadable", Message: text.err.Error(),
			})
			continue
		}
		for _, doc := range manifests.Decode(text.data, manifests.Options{}) {
			verdicts = append(verdicts, verdictOn(text, doc))
			if doc.Err == nil {
				claims = append(claims, claim{text.dir, len(verdicts) - 1})
			}
		}
	}
	settle(verdicts, claims)
	return verdicts
}

// verdictOn is what a document alone deserves.
func verdictOn(text manifestText, doc manifests.Document) httpapi.Manifest {
	m := httpapi.Manifest{
		Source: text.source, Path: text.path, Document: doc.Index, Line: doc.Line,
		Kind: doc.Kind, Namespace: doc.Namespace, Name: doc.Name, Digest: doc.Digest,
		Verdict: httpapi.VerdictAccepted,
	}
	for _, warning := range doc.Warnings {
		m.Warnings = append(m.Warnings, httpapi.Warning{Line: warning.Line, Field: warning.Field, Message: warning.Message})
	}
	if doc.Err != nil {
		m.Verdict, m.Reason, m.Message = httpapi.VerdictRejected, doc.Err.Reason, doc.Err.Message
		m.Line = cmp.Or(doc.Err.Line, doc.Line) // where to go and repair it
	}
	return m
}

// claim is the claim of an accepted document on its name, in its directory.
type claim struct {
	dir   string
	index int // into the verdicts
}

// settle gives each name to the first that claims it.
func settle(verdicts []httpapi.Manifest, claims []claim) {
	slices.SortStableFunc(claims, func(a, b claim) int {
		return cmp.Compare(verdicts[a.index].Path, verdicts[b.index].Path)
	})
	type name struct{ dir, kind, namespace, name string }
	holders := map[name]int{}
	for _, c := range claims {
		m := &verdicts[c.index]
		key := name{c.dir, m.Kind, m.Namespace, m.Name}
		first, taken := holders[key]
		if !taken {
			holders[key] = c.index
			continue
		}
		m.Verdict, m.Reason = httpapi.VerdictConflict, "NameTaken"
		m.Message = fmt.Sprintf("%s holds this name; rename or remove one of the two", place(verdicts[first].Path, verdicts[first].Line))
	}
}

// printVerdicts prints a line per document, as compilers do, and a summary.
func printVerdicts(stdout, stderr io.Writer, verdicts []httpapi.Manifest) error {
	if len(verdicts) == 0 {
		fmt.Fprintln(stderr, "No manifests there: nothing ends in .yaml, .yml or .json.")
		return nil
	}
	tally := map[string]int{}
	var text strings.Builder
	for i := range verdicts {
		m := &verdicts[i]
		tally[m.Verdict]++
		fmt.Fprintf(&text, "%s: %s\n", place(m.Path, m.Line), verdictLine(m))
		for _, warning := range m.Warnings {
			fmt.Fprintf(&text, "%s: warning: %s\n", place(m.Path, cmp.Or(warning.Line, m.Line)), clean(warning.Message))
		}
	}
	var sums []string
	for _, verdict := range []string{httpapi.VerdictAccepted, httpapi.VerdictRejected, httpapi.VerdictConflict} {
		if n := tally[verdict]; n > 0 {
			sums = append(sums, fmt.Sprintf("%d %s", n, verdict))
		}
	}
	fmt.Fprintf(&text, "%s: %s\n", count(len(verdicts), "document"), strings.Join(sums, ", "))
	if _, err := io.WriteString(stdout, text.String()); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

func verdictLine(m *httpapi.Manifest) string {
	what := clean(m.Kind)
	if m.Name != "" {
		what = strings.TrimSpace(what + " " + clean(strings.TrimPrefix(m.Namespace+"/"+m.Name, "/")))
	}
	verdict := m.Verdict
	if m.Verdict == httpapi.VerdictRejected && m.Reason != "" {
		verdict += " (" + clean(m.Reason) + ")"
	}
	return joined(what, joined(verdict, m.Message))
}
