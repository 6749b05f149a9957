#!/usr/bin/env bash
# `make soak`: what takes too long for `make test`. islet, as it is shipped, is
# killed ROUNDS times while manifests change; 200 pods come and go; faults last
# as long as they do in life.
#
#   ROUNDS      how often the chaos test kills islet   (200)
#   ISLET_SEED  repeats the choices of a run           (a new one, printed)
#   ONLY        pattern of the tests to run            (all that have a long form)
#   ENGINE      the engine, as with make test
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

[ "$(id -u)" = 0 ] || die "make soak needs root: it runs pods on a Docker Engine"
scripts/engine.sh
build_islet

export ISLET_SOAK=1 ISLET_SEED=${ISLET_SEED:-$(date +%s)} ROUNDS=${ROUNDS:-200}
ISLET_BINARY=$PWD/bin/islet
export ISLET_BINARY
say "seed $ISLET_SEED, $ROUNDS rounds (engine: $(bin/engine address))"
# Built first, so that no compiler disturbs what is measured.
tests=$(mktemp -d)
trap 'rm -rf "$tests"' EXIT
go test -c -o "$tests/islet.test" ./cmd/islet
(cd cmd/islet && "$tests/islet.test" -test.v -test.timeout 5h -test.run "${ONLY:-Chaos|Leaks|Fault}") || {
	say "failed after $SECONDS s; again: make soak ROUNDS=$ROUNDS ISLET_SEED=$ISLET_SEED${ONLY:+ ONLY=$ONLY}"
	exit 1
}
say "passed in $SECONDS s (seed $ISLET_SEED, $ROUNDS rounds)"
