#!/usr/bin/env bash
# `make test`: everything. Checks, then every test of every package under the
# race detector: unit, guard, scripts of the command, and the contract suite on
# a real Docker Engine. ENGINE=unix:///... chooses the engine.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

[ "$(id -u)" = 0 ] || die "make test needs root: it runs pods on a Docker Engine"
scripts/engine.sh
bad=()
scripts/check.sh || bad+=("checks")
build_islet

say "go test -race ./... (engine: $(bin/engine address))"
go test -race -count=1 -timeout 10m ./... || bad+=("tests")

[ "${#bad[@]}" = 0 ] || die "failed: ${bad[*]} (after $SECONDS s)"
say "checks and tests passed in $SECONDS s"
