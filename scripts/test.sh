#!/usr/bin/env bash
# `make test`: everything. Checks, then every test of every package under the
# race detector: unit, guard, scripts of the command, and the contract suite on
# a real Docker Engine; then the contract suite and the core of the end-to-end
# tests again on a newer engine, 26.1, which scripts/engine26.sh fetches once.
# ENGINE=unix:///... has everything run on that engine alone.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

[ "$(id -u)" = 0 ] || die "make test needs root: it runs pods on a Docker Engine"
scripts/engine.sh
bad=()
core='^(TestContract|TestEditsDoWhatTheyMean|TestKillWithTenPods|TestEndOfIslet|TestStateLost|TestSuccessorWaitsForThePort)$'
newer=$(scripts/engine26.sh address)
inside=() # in the network of the newer engine, where its pods can be reached
if [ "${DOCKER_HOST:-}" = "$newer" ]; then
	inside=(scripts/engine26.sh enter)
elif ! scripts/engine26.sh setup; then
	say "Docker Engine 26.1 cannot be had here (see above): tests that need it are skipped"
fi
scripts/check.sh || bad+=("checks")
build_islet

say "go test -race ./... (engine: $(bin/engine address))"
"${inside[@]}" go test -race -count=1 -timeout 15m ./... || bad+=("tests")

if [ -z "${DOCKER_HOST:-}" ] && scripts/engine26.sh ready; then
	trap 'scripts/engine26.sh stop' EXIT
	scripts/engine26.sh start >/dev/null
	say "the same on Docker Engine 26.1: contract suite, core of the end-to-end tests"
	scripts/engine26.sh enter go test -race -count=1 -timeout 5m -run "$core" ./docker ./cmd/islet || bad+=("tests on 26.1")
fi

[ "${#bad[@]}" = 0 ] || die "failed: ${bad[*]} (after $SECONDS s)"
say "checks and tests passed in $SECONDS s"
