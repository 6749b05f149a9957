// Package sources finds out what is wanted: it reads manifests from where they
// are kept and merges them into one state.
//
// # Data flow
//
// A source ([File]) has one blocking method Run. It sends its whole current
// set, an [Update], after its first attempt and whenever something in it is
// different; there are no add or remove messages. [PodConfig] takes the sets of
// all sources, decides which document holds which name, gives every object its
// identity and publishes a [Snapshot]. The newest state replaces all earlier
// ones, so a slow reader never acts on a stale one.
//
// # What the file source reads
//
// A directory, or a single file. In a directory: names that end in .yaml, .yml
// or .json and do not start with a dot; links are followed; sub-directories are
// not entered. Other names are told of once and ignored, so that a copy made by
// an editor is never taken for a manifest. What is not a regular file, or has
// no read permission bit at all, is a fault of that name; nothing is ever
// opened that could block.
//
// To replace a manifest in one step, write a hidden file in the same directory
// and rename it over the old one.
//
// # When it reads
//
// File events are only hints: any event that may matter leads, after 10 ms of
// quiet and at most 200 ms after the first, to a look at everything. The
// directory, what holds it and where links lead are watched, and watched again
// when they are made anew; lost events lead to a look as well, and every 20 s
// everything is looked at without any event. A file with unchanged inode, size,
// times and mode is not opened, one with unchanged bytes not decoded.
//
// # Last good wins
//
// What was accepted stays in force until it is certain that it is not wanted:
//
//   - A document that is rejected, in a file that is broken, empty or unreadable,
//     is stood in for by the copy accepted earlier, found by name, else by its
//     position. While a document of a file is rejected, none of that file is
//     removed. The good ones apply. A document of a kind that islet does not run
//     is rejected but freezes nothing.
//   - A file that is gone, or a document taken out of a good file, is removed
//     after it has been so, unchanged, for 1 s, and has been read a second time.
//   - A file under a new name (the same inode, size and time, or the same bytes) is
//     the same file, with its last good copies.
//   - A directory that is missing, cannot be read, or is another one than before
//     (a mount that came or went) with no accepted document in it: everything is
//     held, until a directory is there that has an accepted document, or until
//     [File.Forget]. The same directory, readable and empty, is meant.
//   - A single file is removed by deleting it; a missing directory around it holds.
//
// Accepted texts are kept in the store, so that all this holds over a restart.
// What was kept of another path is let go of once the present one was read.
//
// # Names and identity
//
// A name is realm, kind, namespace and name. The document that holds a name
// keeps it; order (file, url, push; then path; then position) decides only
// between newcomers. The others have the standing verdict conflict. When the
// holder goes, another document takes the name over, which is an edit like any
// other: equal texts mean that nothing happens. A last good copy gives way to a
// document that was new or edited after it went bad.
//
// Each name has a random UID and a generation. An edit that means nothing
// changes neither; one that can be applied in place raises the generation; any
// other mints a new UID, and so does a name that comes back, and
// [PodConfig.Renew]. Identities are durable before they are published. Until a
// source has ended its first attempt, what it had accepted before is in the
// snapshot with Hold.
//
// # Verdicts
//
// [PodConfig.Entries] is the standing table of every document and what is made
// of it. A verdict is logged when it changes, never by a poll.
package sources
