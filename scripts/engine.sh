#!/usr/bin/env bash
# Makes sure that a Docker Engine answers and that the example image is there.
#
# An engine that answers (DOCKER_HOST, else /var/run/docker.sock) is used as it
# is. Else, on Debian and as root: docker.io is installed if need be and dockerd
# started, through systemd where that runs, by hand where not. May be run again
# at any time.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

default_socket=/var/run/docker.sock
log=/var/log/islet-dockerd.log

is_debian() { grep -qsE '^ID(_LIKE)?=.*(debian|ubuntu)' /etc/os-release && command -v apt-get >/dev/null; }

install_packages() {
	[ "$(id -u)" = 0 ] || die "$* must be installed: run this as root, or install it yourself"
	is_debian || die "$* must be installed and this is not Debian: install it with the package manager of this system and try again"
	say "install $*"
	export DEBIAN_FRONTEND=noninteractive
	apt-get install -y -q --no-install-recommends "$@" </dev/null >/dev/null ||
		{ apt-get update -q </dev/null >/dev/null && apt-get install -y -q --no-install-recommends "$@" </dev/null >/dev/null; } ||
		die "apt-get install $* failed, see above"
}

start_dockerd() {
	[ "$(id -u)" = 0 ] || die "no Docker Engine answers at $default_socket, and starting one needs root: run this as root, or set DOCKER_HOST to an engine that runs"
	if [ -d /run/systemd/system ]; then
		say "start dockerd (systemctl start docker)"
		systemctl start docker || die "systemctl start docker failed: see journalctl -u docker"
		return
	fi
	say "start dockerd (log: $log)"
	# A session of its own: it stays when the terminal, make or this script end.
	setsid dockerd --host "unix://$default_socket" >>"$log" 2>&1 </dev/null &
	dockerd_pid=$!
}

# settled: the engine answers, or no dockerd is left that could. The package may
# have started one by itself; then the one started here ends at once.
settled() {
	bin/engine ping && return
	[ -n "$dockerd_pid" ] && ! kill -0 "$dockerd_pid" &&
		! kill -0 "$(cat /var/run/docker.pid 2>/dev/null || echo none)"
}

dockerd_pid=
build_tools
if ! bin/engine ping >/dev/null 2>&1; then
	case ${DOCKER_HOST:-unix://$default_socket} in
	"unix://$default_socket" | unix:///run/docker.sock) ;;
	*) die "no Docker Engine answers at DOCKER_HOST=$DOCKER_HOST: $(bin/engine ping 2>&1 || true)" ;;
	esac
	missing=()
	command -v dockerd >/dev/null || missing+=(docker.io)
	command -v iptables >/dev/null || missing+=(iptables)
	[ "${#missing[@]}" = 0 ] || install_packages "${missing[@]}"
	# Installing may have started it already.
	bin/engine ping >/dev/null 2>&1 || start_dockerd
	if ! wait_until 60 "the Docker Engine to answer" settled || ! bin/engine ping >/dev/null 2>&1; then
		[ -z "$dockerd_pid" ] || tail -n 20 "$log" >&2
		die "the Docker Engine does not start; the end of its log is above"
	fi
fi
say "engine: $(bin/engine ping)"

if ! image=$(bin/engine image 2>&1); then
	case $image in
	*busybox-static*)
		install_packages busybox-static
		image=$(bin/engine image) || die "the example image cannot be made, see above"
		;;
	*) die "$image" ;;
	esac
fi
say "$image"
