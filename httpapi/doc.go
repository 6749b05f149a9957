// Package httpapi answers those who ask islet from outside.
//
// # Shape
//
// The package knows no worker and no source: [Config] is a table of functions
// that cmd fills in, [Handler] turns it into routes, and [Serve] answers them
// on a listener. A function that is nil has a route all the same; it answers
// 501, so that a client can tell "not here" from "no such path".
//
// # Routes
//
//	GET  /healthz                 liveness: "ok"; ?verbose lists every check, ?exclude=NAME skips one
//	GET  /healthz/{check}         one check; "ping" is always there
//	GET  /readyz                  readiness: Config.Ready; same forms as /healthz
//	GET  /pods                    v1.PodList of everything wanted or still there
//	GET  /manifests               [ManifestList]: every document of every source, its verdict, its pod
//	GET  /why/{namespace}/{name}  [Why]: the story of one pod
//	GET  /version                 Config.Version
//	POST /down                    ends the pods and then islet; a stream of text lines
//
// HEAD is answered wherever GET is. Health answers are plain text in the form
// of the Kubernetes components, with the reason spelled out because only root
// can read it; [EngineHeader] tells programs when that is the engine. Everything else is JSON, and every error is a metav1.Status
// whose code field equals the HTTP code.
//
// /down answers 200 as soon as the first line is reported. Its outcome comes
// in the trailer [ResultTrailer]: "ok", or "failed: " and why. A stream without
// that trailer was cut. A caller that hangs up ends the context of Config.Down.
//
// # Where it listens
//
// [ListenUnix] makes the socket in the state directory: mode 0600 from the
// moment its name exists, taken over from a dead islet, refused while a live
// one answers. [Dial] is its other half. Paths longer than a socket address
// may be (107 bytes) work in both. [ServeHealth] answers /healthz, and nothing
// else, on a plain TCP address for load balancers and supervisors.
//
// # Limits
//
// Headers are bounded in size and in time, so are bodies; a client that does
// not read is dropped. A handler that panics answers 500, is logged with its
// stack, and takes nothing else down. When the context of [Serve] ends, no new
// request is accepted and running ones get [ShutdownGrace] to finish.
package httpapi
