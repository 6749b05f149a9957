package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
)

const defaultNamespace = "default"

// podName names a pod on the command line.
type podName struct{ namespace, name string }

func (p podName) String() string { return p.namespace + "/" + p.name }

// forms are the ways to write the name, the shortest first.
func (p podName) forms() []string {
	if p.namespace == defaultNamespace {
		return []string{p.name, p.String()}
	}
	return []string{p.String()}
}

// parsePodName reads NAME or NAMESPACE/NAME.
func parsePodName(text string) (podName, error) {
	pod := podName{defaultNamespace, text}
	if namespace, name, found := strings.Cut(text, "/"); found {
		pod = podName{namespace, name}
	}
	if faults := validation.IsDNS1123Label(pod.namespace); len(faults) > 0 {
		return podName{}, fmt.Errorf("%q names no pod: a namespace is up to 63 lower-case letters, digits and hyphens", text)
	}
	if faults := validation.IsDNS1123Subdomain(pod.name); len(faults) > 0 {
		return podName{}, fmt.Errorf("%q names no pod: write NAME or NAMESPACE/NAME in lower-case letters, digits, dots and hyphens", text)
	}
	return pod, nil
}

// onePod admits the name of one pod, and no name when none is needed.
func onePod(needed int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) > 1:
			return fmt.Errorf("one pod at a time, not %d", len(args))
		case len(args) < needed:
			return errors.New("name a pod; 'islet status' lists them")
		}
		return nil
	}
}

// noSuchPod is the error for a name that means no pod, with the names that
// were perhaps meant.
func noSuchPod(wanted podName, known []podName) error {
	near := nearest(wanted, known)
	switch {
	case len(near) > 0:
		return fmt.Errorf("no pod %s (did you mean %s?)", wanted, strings.Join(near, " or "))
	case len(known) == 0:
		return fmt.Errorf("no pod %s; islet has none at all", wanted)
	}
	return fmt.Errorf("no pod %s; 'islet status' lists what there is", wanted)
}

// nearest returns up to three known names that resemble the wanted one: the
// same name elsewhere, a part of it, or one with few letters changed.
func nearest(wanted podName, known []podName) []string {
	type candidate struct {
		text     string
		distance int
	}
	var candidates []candidate
	for _, pod := range known {
		distance := editDistance(wanted.name, pod.name)
		if strings.Contains(pod.name, wanted.name) {
			distance = min(distance, 1)
		}
		if distance <= max(1, len(wanted.name)/3) {
			candidates = append(candidates, candidate{pod.String(), distance})
		}
	}
	slices.SortFunc(candidates, func(a, b candidate) int {
		if a.distance != b.distance {
			return a.distance - b.distance
		}
		return strings.Compare(a.text, b.text)
	})
	var names []string
	for _, c := range candidates {
		if len(names) < 3 && !slices.Contains(names, c.text) {
			names = append(names, c.text)
		}
	}
	return names
}

// editDistance counts the letters to insert, delete or replace, and the
// neighbours to swap, that make a into b.
func editDistance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
