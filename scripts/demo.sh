#!/usr/bin/env bash
# `make demo`: a guided tour that ends by itself. Exit code 0 means that every
# step did what its text says.
#
# It has manifests, state and therefore an owner id of its own in a temporary
# directory and a free port; nothing of it is left, however it ends.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh
umask 022

[ "$(id -u)" = 0 ] || die "make demo needs root: it starts containers and keeps their volumes"
scripts/engine.sh
build_islet

tmp=$(mktemp -d "${TMPDIR:-/tmp}/islet-demo.XXXXXX")
tmp=$(cd "$tmp" && pwd -P)
dir=$tmp/manifests
root=$tmp/state
log=$tmp/islet.log
islet=
done=

cleanup() {
	local code=$?
	trap - EXIT
	trap '' INT TERM HUP
	[ -n "$done" ] || [ ! -s "$log" ] || {
		printf '\nthe end of the log of islet:\n' >&2
		tail -n 40 "$log" >&2
	}
	if [ -n "$islet" ] && kill -0 "$islet" 2>/dev/null; then
		timeout 60 bin/islet down --root-dir "$root" >/dev/null 2>&1 || true
		kill -TERM "$islet" 2>/dev/null || true
		wait_until 30 "islet to end" gone "$islet" || kill -KILL "$islet" 2>/dev/null || true
		wait "$islet" 2>/dev/null || true
	fi
	bin/engine sweep "$root" >/dev/null || code=1
	rm -rf "$tmp" || code=1
	exit "$code"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

gone() { ! kill -0 "$1"; }
status() { bin/islet status --root-dir "$root"; }

# show COMMAND...: what a user would type, and what it answers.
show() {
	printf '\n  $ %s\n' "${*/#bin\//}"
	local code=0
	"$@" 2>&1 | sed 's/^/    /' || code=$?
	[ "$code" = 0 ] || printf '    (exit code %s)\n' "$code"
	echo
	return "$code"
}

# status_code CODE: the exit code of status is CODE by now.
status_code() {
	local code=0
	status || code=$?
	[ "$code" = "$1" ]
}
page() { fetch "http://127.0.0.1:$port/"; }
page_says() { page | grep -qF -- "$1"; }
container_ids() { bin/engine list "$root" | awk '{ print $1 }'; }
nothing_left() { [ -z "$(container_ids)" ]; }

# put NAME: the manifest on stdin appears as NAME at once, as a rename does it.
put() {
	cat >"$tmp/new"
	mv "$tmp/new" "$dir/$1"
}

must() { "$@" || die "this should have worked: $*"; }

mkdir -p "$dir"
port=$(bin/engine freeport)
web=$dir/web.yaml

say "1. start islet on an empty directory"
printf '\n  $ islet run --pod-manifest-path %s --root-dir %s\n\n' "$dir" "$root"
bin/islet run --pod-manifest-path "$dir" --root-dir "$root" --healthz-port 0 >"$log" 2>&1 &
islet=$!
wait_until 60 "islet and its engine to be ready" status_code 0
show bin/islet version

say "2. drop a manifest: examples/web.yaml with port $port"
from=$(date +%s%N)
sed "s/hostPort: 8080/hostPort: $port/" examples/web.yaml | put web.yaml
wait_until 120 "the page of the pod" page_says "hello from a static pod"
printf '    the page is served %s ms after the file appeared\n' $((($(date +%s%N) - from) / 1000000))
wait_until 30 "status to say that all is well" status_code 0
printf '\n  $ curl http://127.0.0.1:%s/\n' "$port"
page | sed 's/^/    /'
show bin/islet status --root-dir "$root"
show bin/islet why web --root-dir "$root"

say "3. edit it: another greeting, which is in the environment of a container"
before=$(container_ids)
sed 's/hello from a static pod/hello again/' "$web" | put web.yaml
wait_until 120 "the new page" page_says "hello again"
wait_until 30 "status to say that all is well" status_code 0
[ "$before" != "$(container_ids)" ] || die "the pod was to be replaced and is still the old one"
show bin/islet status --root-dir "$root"
show bin/islet why web --root-dir "$root"

say "4. break it: a field that does not exist"
before=$(container_ids)
sed 's/^  containers:/  containerz:/' "$web" | put web.yaml
wait_until 30 "status to name the fault (exit code 1)" status_code 1
show bin/islet status --root-dir "$root" && die "status should have ended with exit code 1"
show bin/islet validate "$web" && die "validate should have ended with exit code 1"
must page_says "hello again"
[ "$before" = "$(container_ids)" ] || die "a broken manifest touched the running pod"
say "   the last good version still runs, untouched; its page: $(page | sed -n 's/.*<h1>\(.*\)<.h1>.*/\1/p')"

say "5. repair it"
sed 's/^  containerz:/  containers:/' "$web" | put web.yaml
wait_until 30 "status to say that all is well" status_code 0
[ "$before" = "$(container_ids)" ] || die "a repaired manifest touched the running pod"
show bin/islet status --root-dir "$root"
say "   same containers as before"

say "6. remove it"
show rm "$web"
wait_until 60 "the pod to be gone" nothing_left
wait_until 30 "status to say that all is well" status_code 0
show bin/islet status --root-dir "$root"
if port_open "$port"; then die "port $port is still open"; fi

say "7. end islet"
kill -TERM "$islet"
code=0
wait "$islet" || code=$?
[ "$code" = 0 ] || die "islet ended with exit code $code"
islet=
done=yes
say "done: dropped, edited, broken, repaired, removed; nothing is left"
