# shellcheck shell=bash
# What the scripts beside this file share. To be sourced, from the top of the
# repository, after `set -euo pipefail`.

say() { printf '\033[1m==> %s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '==> %s\n' "$*"; }

die() {
	printf 'error: %s\n' "$*" >&2
	exit 1
}

# wait_until SECONDS WHAT COMMAND...: run COMMAND again and again until it
# succeeds; fail, naming WHAT, when that takes longer than SECONDS.
wait_until() {
	local seconds=$1 what=$2
	shift 2
	local end=$((SECONDS + seconds))
	until "$@" >/dev/null 2>&1; do
		if [ "$SECONDS" -ge "$end" ]; then
			printf 'error: waited %s s in vain: %s\n' "$seconds" "$what" >&2
			return 1
		fi
		sleep 0.1
	done
}

need_go() {
	command -v go >/dev/null || die "Go is needed to build islet: install it from https://go.dev/dl/ (or a package of it) and put it into PATH"
	go version >/dev/null || die "go does not run; see the message above"
	local have
	have=$(go env GOVERSION)
	case $have in
	go1.?.* | go1.1?.* | go1.20*) die "$have is too old: go.mod names what is needed; Go 1.21 or newer fetches it by itself" ;;
	esac
}

# build_tools: what the scripts themselves need.
build_tools() {
	need_go
	mkdir -p bin
	CGO_ENABLED=0 go build -trimpath -o bin/engine ./testdata/engine || die "go build ./testdata/engine failed, see above"
}

build_islet() { make --no-print-directory build || die "building islet failed, see above"; }

# fetch URL: print what a web server answers.
fetch() { bin/engine fetch "$1"; }

port_open() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
