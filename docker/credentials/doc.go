// Package credentials finds what to log in with at a registry, in the places
// where people of Docker and Kubernetes keep it.
//
// # Where
//
// Files in the form of Docker's config.json, of which the first that is there
// counts (see [SearchPath]). They are read anew at every look-up, so that a
// `docker login` is in force with the next pull and needs no restart.
//
// # Which
//
// Entries of auths are matched by the kubelet's own code: by host, with * for
// parts of it, and by the beginning of the path, the longest first. All that
// match are offered, in that order, so that an old and a new password may stand
// side by side while they are exchanged. Before them comes what a credential
// helper says (credHelpers of that registry, else credsStore), which is how
// `docker login` keeps secrets out of the file.
//
// Nothing found means that the pull is anonymous.
//
// # Who may know
//
// A secret leaves this package in [Credential].Auth alone. Errors, and
// [Credential].From, name files, entries and programs.
package credentials
