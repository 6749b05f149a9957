#!/usr/bin/env bash
# `make run`: from a fresh machine to a web page served by a pod, with islet in
# the foreground. May be run again at any time: what runs is taken over.
#
#   DIR   directory of the manifests        (manifests.d)
#   ROOT  islet's state                     (.islet)
#   PORT  port of the example page          (8080, or the next free one)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh
umask 022

dir=${DIR:-manifests.d}
root=${ROOT:-.islet}
example=$dir/web.yaml

[ "$(id -u)" = 0 ] || die "make run needs root: it starts containers and keeps their volumes"
scripts/engine.sh
build_islet
mkdir -p "$dir"
(umask 077 && mkdir -p "$root")
dir=$(cd "$dir" && pwd -P)
root=$(cd "$root" && pwd -P)

# example_with PORT: the example as it is written for a port.
example_with() { sed "s/hostPort: 8080/hostPort: $1/" examples/web.yaml; }

# port_of FILE: the first hostPort in a manifest, or nothing.
port_of() { sed -n 's/^ *hostPort: *\([0-9]\{1,5\}\) *$/\1/p' "$1" | head -n 1; }

# free_for_us PORT: nobody listens there, or a pod of this very root-dir does.
free_for_us() {
	local holder
	if holder=$(bin/engine holder "$1"); then
		[ "${holder#* }" = "$root" ]
		return
	fi
	if port_open "$1"; then return 1; fi
}

who_has() { bin/engine holder "$1" || echo "a program on this machine"; }

# choose_port WISH: WISH when it is free, else, unless PORT asks for it, the
# next one that is.
choose_port() {
	local port=$1
	while ! free_for_us "$port"; do
		[ -z "${PORT:-}" ] || die "port $port is taken by $(who_has "$port"): try make run PORT=$((port + 1))"
		port=$((port + 1))
		[ "$port" -lt $(($1 + 100)) ] || die "ports $1 to $port are all taken: try make run PORT=..."
	done
	[ "$port" = "$1" ] || say "port $1 is taken by $(who_has "$1"): the example takes $port" >&2
	echo "$port"
}

put_example() {
	local old
	case ${PORT:-8080} in
	*[!0-9]* | '') die "PORT=$PORT is not a port number" ;;
	esac
	if [ ! -e "$example" ]; then
		port=$(choose_port "${PORT:-8080}")
		say "put the example pod into $example"
	else
		old=$(port_of "$example")
		port=$old
		if [ -z "$old" ] || ! example_with "$old" | cmp -s - "$example"; then
			say "$example is yours by now: left as it is${PORT:+, PORT=$PORT has no effect}"
			[ -z "$old" ] || free_for_us "$old" || say "but its port $old is taken by $(who_has "$old"): the pod will wait for it"
			return
		fi
		port=$(choose_port "${PORT:-$old}")
		[ "$port" != "$old" ] || return 0
		say "change the port in $example from $old to $port"
	fi
	# Written beside the directory and renamed: islet never reads half a file.
	example_with "$port" >"$root/web.yaml.new"
	mv "$root/web.yaml.new" "$example"
}

page_answers() { [ -z "$port" ] || fetch "http://127.0.0.1:$port/"; }
all_as_wanted() { bin/islet status --root-dir "$root"; }
islet_is_up() {
	all_as_wanted || [ $? -le 1 ]
}

# announce says what there is to see, once it is there.
announce() {
	local well=yes
	wait_until 60 "islet to answer" islet_is_up || return 0
	wait_until 120 "every pod to run as its manifest says" all_as_wanted || well=
	[ -z "$well" ] || wait_until 30 "the page to be served" page_answers || well=
	echo
	bin/islet status --root-dir "$root" || true
	echo
	if [ -n "$well" ] && [ -n "$port" ]; then
		printf '  the page:       http://127.0.0.1:%s/\n' "$port"
	elif [ -z "$well" ]; then
		printf '  not all is well: bin/islet why POD --root-dir %s tells why\n' "$root"
	fi
	printf '  more manifests: %s/  (drop, edit, remove files there)\n' "$dir"
	printf '  have a look:    bin/islet status --root-dir %s\n' "$root"
	printf '  the end:        Ctrl-C ends islet, the pods keep running\n\n'
}

port=
put_example

flags=(--pod-manifest-path "$dir" --root-dir "$root")
# Another islet, or a kubelet, may have the health port.
if port_open 10248; then flags+=(--healthz-port 0); fi

say "islet run ${flags[*]}"
# In a session of its own: Ctrl-C of the terminal reaches this script alone.
setsid bin/islet run "${flags[@]}" &
islet=$!
announce &
announcer=$!

# Whoever ends this script ends islet, which is told once: the same signal may
# come from several sides. A second Ctrl-C is meant: islet then ends at once.
told=
tell() {
	told=yes
	kill -TERM "$islet" 2>/dev/null || true
}
trap tell INT
trap '[ -n "$told" ] || tell' TERM HUP
# A signal ends wait, not islet; once islet has ended, wait gives its exit code as
# often as it is asked.
wait "$islet" || true
while kill -0 "$islet" 2>/dev/null; do wait "$islet" || true; done
code=0
wait "$islet" || code=$?
kill "$announcer" 2>/dev/null || true
wait "$announcer" 2>/dev/null || true

[ "$code" = 0 ] || die "islet ended with exit code $code, see above"
echo
if [ -n "$told" ]; then
	say "islet has ended; its pods keep running. make run takes them over again."
	say "to stop them: bin/islet down --root-dir $root"
else
	say "islet has ended"
fi
