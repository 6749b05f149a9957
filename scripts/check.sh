#!/usr/bin/env bash
# `make check`: what can be said of the code without running it on an engine.
# All checks are made; the exit code is 1 when one of them found something.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh
need_go

tools=(./testdata/images ./testdata/engine ./testdata/bench)
bad=()

# check NAME COMMAND...
check() {
	local name=$1
	shift
	say "$name"
	"$@" || bad+=("$name")
}

formatted() {
	local files
	files=$(find . -name '*.go' -not -path './.git/*' -print0 | xargs -0 gofmt -l)
	[ -z "$files" ] || {
		printf 'not formatted (gofmt -w):\n%s\n' "$files"
		return 1
	}
}

scripts_fine() {
	command -v shellcheck >/dev/null || {
		echo "shellcheck is not installed: skipped"
		return
	}
	shellcheck -x .ci/run scripts/*.sh
}

check gofmt formatted
check "go vet" go vet ./... "${tools[@]}"
check staticcheck go tool staticcheck ./... "${tools[@]}"
check "guard tests" go test -count=1 .
check shellcheck scripts_fine

[ "${#bad[@]}" = 0 ] || die "found something: ${bad[*]}"
say "checks passed"
