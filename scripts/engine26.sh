#!/usr/bin/env bash
# A second, newer Docker Engine (26.1, of Debian 13) beside the one that was
# found, for tests. The found one is not touched: the newer one has a directory,
# a socket and a network namespace of its own.
#
#   scripts/engine26.sh setup    fetch it, once (about 30 to 80 s)
#   scripts/engine26.sh start    setup, then start it and print its address
#   scripts/engine26.sh ready    has it been fetched?
#   scripts/engine26.sh address  print its address
#   scripts/engine26.sh enter COMMAND...   run a command in its network namespace,
#                                with DOCKER_HOST set
#   scripts/engine26.sh stop     stop it and its containers
#   scripts/engine26.sh clean    stop it and remove all of it
#
# ISLET_ENGINE26_DIR (/var/cache/islet-engine26) is where it lies. The test
# harness (docker/dockertest) finds it there and starts private ones from it.
#
# Its programs run on this machine's file system, with no chroot and no mounts:
# they are copies that name their own dynamic loader and libraries. So whatever
# islet writes or mounts is at the same path for this engine too.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

dir=${ISLET_ENGINE26_DIR:-/var/cache/islet-engine26}
root=$dir/rootfs
run=$dir/run
socket=$run/sock
programs=(dockerd docker-proxy containerd containerd-shim-runc-v2 runc)

need() {
	local command=$1 package=$2
	command -v "$command" >/dev/null && return
	command -v apt-get >/dev/null || die "$command is missing: install $package"
	say "install $package" >&2
	export DEBIAN_FRONTEND=noninteractive
	apt-get install -y -q --no-install-recommends "$package" </dev/null >/dev/null ||
		{ apt-get update -q </dev/null >/dev/null && apt-get install -y -q --no-install-recommends "$package" </dev/null >/dev/null; } ||
		die "apt-get install $package failed, see above"
}

# find_program NAME: its path in the fetched system.
find_program() {
	local at
	for at in "$root/usr/bin/$1" "$root/usr/sbin/$1"; do
		if [ -f "$at" ]; then
			echo "$at"
			return
		fi
	done
	die "$1 is not in $root: remove $dir and try again"
}

setup() {
	[ ! -e "$dir/ready" ] || return 0
	[ "$(id -u)" = 0 ] || die "fetching an engine needs root"
	need debootstrap debootstrap
	need patchelf patchelf
	say "fetch Docker Engine 26.1 (Debian 13) into $dir" >&2
	mkdir -p "$dir"
	exec 9>"$dir/lock"
	flock 9 # two that come at once fetch it once
	[ ! -e "$dir/ready" ] || return 0
	rm -rf "$root" "${dir:?}/bin"
	debootstrap --variant=minbase --include=docker.io,iptables,ca-certificates trixie "$root" >"$dir/log" 2>&1 ||
		{ tail -n 5 "$dir/log" >&2 && die "debootstrap failed; all it said is in $dir/log"; }
	local loader name at
	loader=$(echo "$root"/usr/lib64/ld-linux-*.so.2 "$root"/usr/lib/ld-linux-*.so.1)
	for at in $loader; do if [ -e "$at" ]; then loader=$at; fi; done
	mkdir "$dir/bin"
	for name in "${programs[@]}"; do
		at=$(find_program "$name")
		cp "$at" "$dir/bin/$name"
		patchelf --set-interpreter "$loader" --force-rpath \
			--set-rpath "$(echo "$root"/usr/lib/*-linux-gnu)" "$dir/bin/$name"
	done
	cp -L "$root/usr/bin/docker-init" "$dir/bin/docker-init" # static
	apt_cache_clean
	"$dir/bin/dockerd" --version >"$dir/ready.new"
	mv "$dir/ready.new" "$dir/ready"
	exec 9>&-
	say "fetched: $(cat "$dir/ready")" >&2
}

apt_cache_clean() { rm -rf "$root"/var/cache/apt "$root"/var/lib/apt/lists; }

pid() { cat "$run/pid" 2>/dev/null; }
running() {
	local p
	p=$(pid) && tr '\0' ' ' <"/proc/$p/cmdline" 2>/dev/null | grep -qF -- "--pidfile=$run/pid"
}
answers() { DOCKER_HOST=unix://$socket bin/engine ping; }
gone() { ! running; }

start() {
	setup
	build_tools
	if ! running; then
		[ "$(id -u)" = 0 ] || die "starting an engine needs root"
		say "start Docker Engine 26.1 (log: $run/log)" >&2
		mkdir -p "$run"
		PATH=$dir/bin:$PATH setsid unshare --net sh -c 'ip link set lo up && exec "$@"' sh \
			"$dir/bin/dockerd" --data-root="$run/data" --exec-root="$run/exec" --pidfile="$run/pid" \
			--host="unix://$socket" --containerd-namespace=islet-26 --containerd-plugins-namespace=islet-26-plugins \
			--bridge=none >"$run/log" 2>&1 </dev/null &
	fi
	wait_until 60 "Docker Engine 26.1 to answer" answers ||
		{ tail -n 20 "$run/log" >&2 && die "it does not start; the end of its log is above"; }
	say "engine: $(answers)" >&2
	echo "unix://$socket"
}

stop() {
	local p
	if running; then
		p=$(pid)
		say "stop Docker Engine 26.1 (pid $p)" >&2
		kill -TERM "$p"
		wait_until 60 "it to end" gone || { kill -KILL "$p" && die "it had to be killed"; }
	fi
	# The daemon makes its data a mount of its own and leaves it so.
	awk -v at="$run/" 'index($5, at) == 1 { print $5 }' /proc/self/mountinfo | sort -r | xargs -r -n 1 umount -l
}

case ${1:-} in
setup) setup ;;
start) start ;;
stop) stop ;;
ready) [ -e "$dir/ready" ] ;;
address) echo "unix://$socket" ;;
enter)
	shift
	running || die "it does not run: scripts/engine26.sh start"
	DOCKER_HOST=unix://$socket exec nsenter --net="/proc/$(pid)/ns/net" -- "$@"
	;;
clean)
	stop
	[ -e "$dir/ready" ] || [ -d "$root" ] || die "$dir holds no engine: nothing is removed"
	say "remove $dir" >&2
	rm -rf "$dir"
	;;
*)
	sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0" >&2
	exit 2
	;;
esac
