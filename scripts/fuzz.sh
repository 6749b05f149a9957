#!/usr/bin/env bash
# `make fuzz`: every fuzz target for T (30s). What the fuzzer found interesting
# is kept beside the package, in testdata/fuzz, the shortest inputs first, so
# that every later `go test` runs them.
#
#   T     how long each target runs   (30s)
#   KEEP  inputs kept per target      (40)
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/lib.sh

need_go
keep=${KEEP:-40}
cache=$(go env GOCACHE)/fuzz
module=$(go list -m)

# keep_corpus PKG TARGET: copy the shortest new inputs.
keep_corpus() {
	local from=$cache/$1/$2 to=${1#"$module"/}/testdata/fuzz/$2 file
	[ -d "$from" ] || return 0
	mkdir -p "$to"
	find "$from" -type f -size -8k -printf '%s %p\n' | sort -n | head -n "$keep" | cut -d' ' -f2- | while read -r file; do
		[ -e "$to/${file##*/}" ] || cp "$file" "$to/"
	done
	say "$2: $(find "$to" -type f | wc -l) inputs in $to"
}

for pkg in $(go list ./...); do
	for target in $(go test -list '^Fuzz' "$pkg" | grep '^Fuzz' || true); do
		say "fuzz $pkg $target for ${T:-30s}"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "${T:-30s}" "$pkg"
		keep_corpus "$pkg" "$target"
	done
done
