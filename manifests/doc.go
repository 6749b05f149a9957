// Package manifests reads what people write into files and says what it means.
// It is pure: text in, objects and verdicts out, the same for the same text.
//
// # From text to object
//
// [Decode] takes the bytes of a file and returns one [Document] for each object
// in it, accepted or rejected. The steps, in order:
//
//  1. The file as a whole: size, binary content, byte order mark, line ends.
//  2. Cutting at the document markers (split.go). It happens on the text, so a
//     document that does not parse takes no other with it.
//  3. Parsing into a tree of nodes that remember their lines (jsontext.go,
//     yamltext.go). YAML means what it means to Kubernetes: YAML 1.1 scalars,
//     anchors, merge keys. Trees are bounded in depth and size, aliases
//     included (limits.go).
//  4. Naming kind and object, unfolding lists (decode.go).
//  5. Taking out what a manifest cannot say, such as a UID or a status
//     (prune.go).
//  6. Checking keys and types against the Go types of the API (schema.go,
//     check.go), with a guess at what was meant (suggest.go).
//  7. The canonical text (canonical.go), which is what is decoded, kept in the
//     store and digested.
//  8. Defaults and validation, both by the code of Kubernetes (object.go,
//     validate.go), and the table of what islet does not honour (support.go).
//  9. Hints at what is allowed but unlikely to be meant (lint.go).
//
// A rejected document carries all its faults in one line, each with its path
// and line, and the reason, field and line of the first. Values of Secrets are
// never part of a message.
//
// # Two texts of one pod
//
// [Compare] says what it takes to get from one accepted pod to another of the
// same name: nothing, an update of the living pod, or another instance. It
// works on meaning, after defaulting, so comments, order, style and spelled-out
// defaults make no difference. [EffectiveDigest] puts the same meaning into a
// word.
//
// # Adding a field
//
// When islet learns to honour a field, its line in support.go becomes
// honoured, or inside with a table for the type below it. Tests hold the table
// against the types of the API, so a new release of Kubernetes fails them until
// each of its new fields has a line.
package manifests
