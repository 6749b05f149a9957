# islet: pods on one machine from manifests. `make help` lists the targets.
#
# Everything here is a convenience: `go build ./cmd/islet` needs no make.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.ONESHELL:
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-print-directory

# Where `make run` puts the example and islet looks for manifests.
DIR ?= manifests.d
# Where the islet of `make run` keeps its state.
ROOT ?= .islet

# make test ENGINE=unix:///run/other.sock: another engine than the usual one.
ifdef ENGINE
export DOCKER_HOST := $(ENGINE)
endif
export DIR ROOT

# make fuzz T=60s: how long each target runs.
T ?= 30s

# make soak ROUNDS=200 ISLET_SEED=...: how often islet is killed, and the seed of
# a run to be repeated; ONLY is a pattern of the tests to run.
export ROUNDS ISLET_SEED ONLY

.PHONY: help run demo test check build bench engine soak fuzz deps clean

help: ## what can be made
	@echo "islet: pods on one machine from manifests, run by Docker."
	echo
	awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile
	echo
	echo "  run:  DIR=$(DIR) manifests, ROOT=$(ROOT) state, PORT=8080 of the example"
	echo "  test: ENGINE=unix:///path/of/docker.sock tests against another engine"
	echo "  soak: ROUNDS=200, ISLET_SEED=n repeats a run, ONLY=Chaos runs a part; ENGINE as with test"

run: ## engine, build, example pod into DIR, islet in the foreground
	@exec scripts/run.sh

demo: ## guided tour: drop, edit, break, repair, remove; ends by itself
	@exec scripts/demo.sh

test: ## everything: check, unit, guard, race, real Docker, scripts
	@exec scripts/test.sh

check: ## gofmt, vet, staticcheck, guard tests, shellcheck; needs no engine
	@exec scripts/check.sh

build: ## bin/islet, static
	@echo "==> build bin/islet"
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/islet ./cmd/islet

engine: ## a Docker Engine that answers, and the example image
	@exec scripts/engine.sh

bench: ## start, idle and core figures of islet against bare Docker calls
	@exec scripts/bench.sh

soak: ## chaos for ROUNDS (200), leaks with 200 pods, every long fault
	@exec scripts/soak.sh

fuzz: ## every fuzz target for T (30s) each; what is found is kept in testdata/fuzz
	@T="$(T)" exec scripts/fuzz.sh

deps: ## write the dependency budgets anew (look at the difference)
	@echo "==> write testdata/guard/deps.txt"
	go test -count=1 -run '^TestDependencyBudget$$' . -update

clean: ## remove what make built; pods, state and manifests stay
	@echo "==> remove bin/"
	rm -rf bin
	if [ -e "$(ROOT)" ]; then
		echo "    kept: $(ROOT) and the pods it belongs to; to stop them: bin/islet down --root-dir $(ROOT)"
	fi
