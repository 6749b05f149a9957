// Package store keeps what must survive a restart of islet: one directory (the
// root-dir) of plain files that a person can read with cat.
//
// # Layout
//
//	lock                      held (flock) by the one islet that uses the root-dir; its pid is inside
//	owner                     random id of this installation: 32 hex digits
//	key                       secret of this installation: 64 hex digits
//	islet.sock                the socket of the running islet
//	documents/{file,url,push}/ accepted texts, by source
//	identities/               UID, generation and accepted text per object name
//	pods/<uid>/               instance.json, volumes/, etc-hosts, resolv.conf of one instance
//	outcomes/ events/ claims/ pki/
//	quarantine/               files that could not be read, moved out of the way
//
// Directories are 0700 and files 0600.
//
// # Promises
//
// A value is replaced as a whole or not at all: it is written to a temporary
// file in the same directory, flushed, renamed over the old one, and the
// directory is flushed. When a Put returns nil the value survives a power
// failure; when it returns an error either the old or the new value is there.
// Temporary files that a crash left behind are removed by [Open].
//
// A file that cannot be read back never stops the others from being used: it
// is moved to quarantine/ and named, in the error of a Get, in the result of
// an Each, and in [Store.Quarantined] for as long as the store is open.
//
// The store knows no types of its callers: a value is whatever encoding/json
// makes of it. Each stored struct has a version field of its own.
//
// # Concurrency
//
// All methods may be called at the same time. Two Puts of one name at the same
// time end with one of the two values. Methods block on the disk.
package store
