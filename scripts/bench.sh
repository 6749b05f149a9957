#!/usr/bin/env bash
# `make bench`: islet against the same Docker calls made by hand, idle cost, and
# the Go benchmarks of the core. BENCHFLAGS is given to the harness
# (see testdata/bench/doc.go).
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

[ "$(id -u)" = 0 ] || die "make bench needs root: it starts containers and keeps their volumes"
scripts/engine.sh
build_islet
CGO_ENABLED=0 go build -trimpath -o bin/bench ./testdata/bench

say "islet against bare Docker calls"
# shellcheck disable=SC2086 # words, on purpose
bin/bench -islet bin/islet ${BENCHFLAGS:-}

say "the core"
go test -run '^$' -bench . -benchmem ./manifests ./sources ./pods
