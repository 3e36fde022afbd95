# Every command of the project. `make` alone lists them.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Nothing is written outside the checkout and this folder.
export STOWAGE_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/stowage
export PIP_CACHE_DIR := $(STOWAGE_CACHE)/pip
export UV_CACHE_DIR := $(STOWAGE_CACHE)/uv
export GOCACHE := $(STOWAGE_CACHE)/go-build
export GOMODCACHE := $(STOWAGE_CACHE)/go-mod
export GOLANGCI_LINT_CACHE := $(STOWAGE_CACHE)/golangci-lint
export MYPY_CACHE_DIR := $(STOWAGE_CACHE)/mypy
export RUFF_CACHE_DIR := $(STOWAGE_CACHE)/ruff
export CGO_ENABLED := 0
# Where it is set, each of the many commands that tests start compiles its modules anew, for a second.
unexport PYTHONDONTWRITEBYTECODE
# As the tools are built: what tests and tools have in common is compiled once.
export GOFLAGS := -mod=readonly -gcflags=all=-dwarf=false

VENV := .venv
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
COMPILED := $(VENV)/.compiled
# What any checkout has compiled of the optimiser's hot loops, a folder for each state of their sources.
LOOPS := $(STOWAGE_CACHE)/loops
DEVTOOLS := $(STOWAGE_CACHE)/devtools
export PATH := $(CURDIR)/$(VENV)/bin:$(DEVTOOLS):$(PATH)

REPEAT ?= 1
SCENARIOS ?= scenarios
BACKEND ?= kwok-binary
# The minor of Kubernetes, such as 1.36; the default one if empty. GO_MINOR is what Go needs to build for it.
KUBERNETES ?= $(STOWAGE_KUBERNETES)
export STOWAGE_KUBERNETES := $(KUBERNETES)
go_minor = -modfile=go-$(1).mod -tags=k8s$(subst .,,$(1))
GO_MINOR = $(if $(wildcard scheduler/go-$(KUBERNETES).mod),$(call go_minor,$(KUBERNETES)))
# Minors that the scheduler is built for as well. Their tests run in `make test-all`.
OTHER_MINORS := $(patsubst scheduler/go-%.mod,%,$(wildcard scheduler/go-*.mod))
RESULTS ?= results
# Groups of tools that only `make test-all` needs.
FURTHER_TOOLS := metrics compare prometheus descheduler
# What Go's tests read outside of their module: it is part of each test's build, so that cached results hold for it.
GO_TEST_INPUTS := charts/stowage/profiles testbed/stowage_testbed/whatif/objects.yaml benchmarks/faults/odd_objects.jsonl \
  optimizer/stowage_optimizer
# A worker takes a file at a time, and those that wait, for clusters, come first.
PYTEST := pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder
export TOUCHED_TESTS
go_test = go test -trimpath -ldflags=-X=tests.inputs=$$(cd .. && ci/content-hash $(GO_TEST_INPUTS))

.PHONY: help
help: ## List the targets.
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sort | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

$(READY): requirements.lock pyproject.toml optimizer/pyproject.toml benchmarks/strategies/pyproject.toml ci/python-environment
	@ci/python-environment $(VENV)
	@touch $@

$(COMPILED): $(READY) $(wildcard optimizer/stowage_optimizer/search/*.py optimizer/stowage_optimizer/bounds/*.py)
	@STOWAGE_COMPILED="$(LOOPS)" ci/telling "compiling the optimiser's hot loops" stowage-optimizer compile
	@mkdir -p "$(LOOPS)"
	@find "$(LOOPS)" -mindepth 1 -maxdepth 1 -mtime +7 -exec rm -rf {} +
	@cp -ru optimizer/stowage_optimizer/search/__pycache__/compiled-* "$(LOOPS)" || true
	@touch $@

.PHONY: setup
setup: $(COMPILED) ## Make the Python environment, install the tools (STOWAGE_SOURCE=go: build them) and compile the hot loops.
	@stowage tools install

.PHONY: devtools
devtools: $(READY) ## Build the linters and generators that are Go programs.
	@ci/devtools $(DEVTOOLS)

.PHONY: go-modules
go-modules: $(READY) ## Fetch the Go modules that tests are built from or read.
	@ci/go-modules

.PHONY: test-tools
test-tools: setup go-modules ## Fetch and build what `make test` needs; where browsers cannot be installed, their tests are skipped.
	@stowage tools install --quiet kubectl
	@ci/browsers || true

.PHONY: further-tools
further-tools: test-tools ## Build the tools of other projects and other minors of Kubernetes that `make test-all` needs: an hour.
	@for group in $(FURTHER_TOOLS); do stowage tools install --quiet --group "$$group"; done
	@for minor in $(OTHER_MINORS); do stowage tools install --quiet --kubernetes "$$minor"; done

.PHONY: e2e
e2e: $(READY) e2e-needs-$(BACKEND) ## Run every scenario on a real fake-node cluster (REPEAT=10 for ten rounds; JOBS=1 for one at a time; BACKEND=kind; KUBERNETES=1.36).
	@stowage run $(SCENARIOS) --backend $(BACKEND) \
	  --repeat $(REPEAT) $(JOBS:%=--jobs %) --junit $(RESULTS)/junit.xml --results $(RESULTS)

# Only what a run uses: each tool more is a minute more of the first one.
.PHONY: e2e-needs-kwok-binary e2e-needs-kind
e2e-needs-kwok-binary: $(READY)
	@stowage tools install --for run
	@touch $(COMPILED)

e2e-needs-kind: images

.PHONY: images
images: $(READY) ## Build the release's images in Docker, and kind's node where none can be pulled (BASE=image for the optimiser).
	@ci/containers
	@stowage tools install --quiet --group kind
	@stowage tools install --quiet
	@stowage images build $(BASE:%=--base %)
	@stowage images build --unless-published node

.PHONY: wheel
wheel: $(READY) ## Build wheels and source archives into dist/.
	@uv build --quiet --all-packages --no-build-isolation --out-dir dist

.PHONY: docs docs-serve
docs: $(READY) ## Build the documentation into site/.
	@NO_MKDOCS_2_WARNING=1 mkdocs build --quiet --strict

docs-serve: $(READY) ## Serve the documentation on 127.0.0.1:8000, and build it anew when a page changes.
	@NO_MKDOCS_2_WARNING=1 mkdocs serve --strict

.PHONY: chart
chart: $(READY) ## Package the chart into dist/.
	@stowage tools install --quiet helm
	@mkdir -p dist
	@"$$(stowage tools path helm)" package charts/stowage --destination dist

.PHONY: programs
programs: $(READY) ## Build Stowage's own programs for a release into dist/, of every minor, with digests.
	@STOWAGE_SOURCE=go python ci/release_programs.py dist

.PHONY: chart-readme
chart-readme: $(READY) devtools ## Write the chart's README from its template and values.yaml.
	@ci/chart-readme

.PHONY: bench-optimizer
bench-optimizer: $(READY) $(COMPILED) ## Measure plans of fleets: 45 minutes (SMOKE=1: a minute); resumable; TRACE=folder of the OpenB trace, made fleets only without.
	@python -m benchmarks optimizer --results $(RESULTS) --scope $(if $(SMOKE),smoke,default) $(if $(TRACE),--trace "$(TRACE)")

.PHONY: bench-score-cache
bench-score-cache: $(READY) ## Measure the score cache beside the stock scheduler: half an hour (FULL=1: hours, SMOKE=1: a minute); resumable.
	@python -m benchmarks score-cache --results $(RESULTS) --scope $(if $(SMOKE),smoke,$(if $(FULL),full,default))

.PHONY: bench-gangs
bench-gangs: $(READY) $(COMPILED) ## Compare plans with gangs with stock's workload-aware preemption: half an hour (SMOKE=1: a minute); resumable.
	@python -m benchmarks gangs --results $(RESULTS) --scope $(if $(SMOKE),smoke,default)

.PHONY: upstream
upstream: $(READY) $(COMPILED) ## Measure the profiles with upstream's scheduler_perf: 50 minutes (SHORT=1: twelve, FULL=1: 5,000 nodes, hours); resumable.
	@python -m benchmarks upstream --results $(RESULTS) \
	  --scope $(if $(SMOKE),smoke,$(if $(SHORT),short,$(if $(FULL),full,default))) $(PROFILE:%=--profile %)

.PHONY: upstream-devices
upstream-devices: $(READY) $(COMPILED) ## Measure upstream's cases of devices with the profiles for them: an hour (SMOKE=1: two minutes, FULL=1: 500 nodes, hours); resumable.
	@python -m benchmarks upstream-devices --results $(RESULTS) \
	  --scope $(if $(SMOKE),smoke,$(if $(FULL),full,default)) $(PROFILE:%=--profile %)

.PHONY: upstream-gangs
upstream-gangs: $(READY) $(COMPILED) ## Measure upstream's cases of pod groups: an hour (SMOKE=1: minutes, FULL=1: larger, hours); resumable.
	@python -m benchmarks upstream-gangs --results $(RESULTS) \
	  --scope $(if $(SMOKE),smoke,$(if $(FULL),full,default)) $(PROFILE:%=--profile %)

.PHONY: upstream-e2e
upstream-e2e: $(READY) $(COMPILED) ## Run upstream's end-to-end tests of scheduling on fake nodes: an hour; resumable (ONLY=hostPort).
	@stowage tools install --quiet
	@python -m benchmarks upstream-e2e --results $(RESULTS) $(if $(ONLY),--only "$(ONLY)") $(PROFILE:%=--profile %)

.PHONY: bench-live
bench-live: setup ## Measure plans on live clusters to 5,000 nodes: half an hour (SMOKE=1: minutes); resumable; PART=moves-2000, pending-500 or rate.
	@python -m benchmarks live --results $(RESULTS) --scope $(if $(SMOKE),smoke,default) $(PART:%=--part %)

.PHONY: reproduce-quick
reproduce-quick: setup ## Rebuild the paper's evaluation: 10 instances a cell at 1 s, within the hour; resumable; WORKERS=2.
	@stowage reproduce paper --sample 10 --limits 1 --live 0.02 $(WORKERS:%=--workers %) \
	  --results $(RESULTS)/reproduce-quick
	@cp $(RESULTS)/reproduce-quick/figures.json $(RESULTS)/reproduce-quick.json

.PHONY: reproduce-thesis
reproduce-thesis: setup ## Rebuild the thesis's comparison of solvers: an instance a cell at 1 s, a quarter of an hour; resumable; SAMPLE=50.
	@stowage reproduce thesis --sample $(or $(SAMPLE),1) $(WORKERS:%=--workers %) \
	  --results $(RESULTS)/reproduce-thesis
	@cp $(RESULTS)/reproduce-thesis/figures.json $(RESULTS)/reproduce-thesis.json

.PHONY: reproduce-boreas
reproduce-boreas: setup ## Deploy the scenes of Boreas on a real cluster, the paper's two 100 times each: half an hour; resumable.
	@stowage reproduce boreas --repeat $(or $(REPEATS),100) \
	  --results $(RESULTS)/reproduce-boreas
	@cp $(RESULTS)/reproduce-boreas/figures.json $(RESULTS)/reproduce-boreas.json

.PHONY: reproduce-fgd
reproduce-fgd: $(READY) ## Rebuild FGD's evaluation: minutes; resumable; TRACE=folder of the OpenB trace; WORKERS=2.
	@stowage reproduce fgd "$(TRACE)" $(WORKERS:%=--workers %) --results $(RESULTS)/reproduce-fgd
	@cp $(RESULTS)/reproduce-fgd/figures.json $(RESULTS)/reproduce-fgd.json

.PHONY: reproduce-scorecache
reproduce-scorecache: setup ## Rebuild the score cache's tables with all schedulers: 25 minutes; resumable.
	@stowage tools install --group compare
	@stowage tools install --group metrics
	@stowage reproduce scorecache --results $(RESULTS)/reproduce-scorecache
	@cp $(RESULTS)/reproduce-scorecache/figures.json $(RESULTS)/reproduce-scorecache.json

.PHONY: fault
fault: setup ## Break things on purpose, again and again: an hour and a half (TRIES=1: minutes); resumable; SEED=7 for other dice.
	@python -m benchmarks faults --results $(RESULTS) $(TRIES:%=--tries %) $(SEED:%=--seed %)

.PHONY: soak
soak: setup ## Try faults one after the other for 40 minutes and look for what grows (HOURS=4; SEED=7; WARM_UP_S=60).
	@python -m benchmarks soak --results $(RESULTS) $(HOURS:%=--hours %) $(SEED:%=--seed %) $(WARM_UP_S:%=--warm-up-s %)

.PHONY: fuzz
fuzz: $(READY) $(COMPILED) ## Throw a million legal but odd objects at scheduler and optimiser, 100,000 of any kind at what-if, random bytes at plans, carry plans out in any order of events, and compare plans with the allocator of devices (OBJECTS, OBSERVED, RUNS, PLANS, SEED, FUZZTIME=1m).
	@cd scheduler && OBJECTS=$(or $(OBJECTS),1000000) OBSERVED=$(or $(OBSERVED),100000) SEED=$(or $(SEED),$$RANDOM) \
	  go test -count=1 -v -timeout 24h -run OddObject ./oddobjects
	@cd scheduler && go test -count=1 -v -timeout 24h ./fakecluster -args -runs=$(or $(RUNS),50000) -seed=$(or $(SEED),$$RANDOM)
	@cd scheduler && go test -count=1 -v -timeout 24h -run PlansAgree ./simulation -args -runs=$(or $(PLANS),10000) -seed=$(or $(SEED),$$RANDOM)
	@cd scheduler && go test -run '^$$' -fuzz FuzzDecode -fuzztime $(or $(FUZZTIME),10m) ./plan

.PHONY: fmt
fmt: $(READY) ## Format Python and Go.
	@ruff format .
	@ruff check --fix --quiet . || true
	@gofmt -w scheduler testbed/stowage_testbed/toolchain/modules benchmarks/upstream

.PHONY: lint
lint: $(READY) devtools ## Check format and lint of Python, Go, YAML, shell, workflows and the chart (KINDS="python go").
	@stowage tools install --quiet helm
	@ci/lint $(KINDS)

.PHONY: type
type: $(READY) ## Check types.
	@mypy
	@lint-imports

.PHONY: test-go
test-go: $(READY) $(COMPILED) go-modules ## Run the Go tests (KUBERNETES=1.36, SHUFFLE=1); results are cached.
	@cd scheduler && GOPROXY=off $(go_test) $(GO_MINOR) $(if $(SHUFFLE),-shuffle=on) ./...

# The race detector needs C and a second build of Kubernetes; nothing that is shipped is built with it.
.PHONY: test-go-race
test-go-race: $(READY) $(COMPILED) go-modules ## Run the Go tests under the race detector (SHUFFLE=1).
	@ci/c-compiler
	@cd scheduler && CGO_ENABLED=1 GOPROXY=off $(go_test) -race $(if $(SHUFFLE),-shuffle=on) ./...

.PHONY: vet-go-minors
vet-go-minors: $(addprefix vet-go-,$(OTHER_MINORS)) ## Compile the Go code and its tests for the other minors of Kubernetes.

vet-go-%: $(READY) go-modules
	@cd scheduler && GOPROXY=off go vet $(call go_minor,$*) -trimpath ./...

.PHONY: test-fast
test-fast: $(READY) $(COMPILED) ## Run the quick Python tests that need no cluster and no browser.
	@stowage tools install --quiet stowage-simulate kubectl
	@$(PYTEST) -m "not e2e and not chart and not browser and not thorough and not nightly"

.PHONY: test-chart
test-chart: $(READY) go-modules ## Run the tests of the Helm chart.
	@stowage tools install --quiet helm
	@pytest -m "chart and not nightly"

.PHONY: test-python
test-python: test-tools ## Run the standard Python tests, and those for the night that TOUCHED_TESTS names (PYTEST_ARGS).
	@$(PYTEST) -m "not nightly or touched" $(PYTEST_ARGS)

.PHONY: test
test: test-tools ## Run the tests of Go and of Python, whatever the other half says, on the tools of `make e2e` and kubectl.
	@$(MAKE) --no-print-directory --keep-going test-go test-python

.PHONY: test-all
test-all: further-tools ## Run all tests: also those of other schedulers, containers, other minors, papers and upstream's judges. Hours.
	@if ci/containers; then $(MAKE) --no-print-directory images; fi
	@$(MAKE) --no-print-directory --keep-going test-go-race SHUFFLE=1
	@for minor in $(OTHER_MINORS); do $(MAKE) --no-print-directory test-go SHUFFLE=1 KUBERNETES="$$minor"; done
	@export HYPOTHESIS_PROFILE=random PROOF_PIECES=20 JUDGED_PLANS=10000; $(PYTEST) $(PYTEST_ARGS)
	@export HYPOTHESIS_PROFILE=random; for round in 2 3 4 5; do pytest --quiet --numprocesses 2 tests/property; done

.PHONY: test-slow
test-slow: test-tools ## Run the end-to-end tests at a quarter of the speed, as on a slow machine (SHARE=0.25; needs root).
	@STOWAGE_PATIENCE=4 ci/slowly --share $(or $(SHARE),0.25) $(PYTEST) --timeout 1500 -m "e2e and not nightly" $(PYTEST_ARGS)

.PHONY: coverage
coverage: $(READY) $(COMPILED) go-modules ## Print how much of the code the tests without clusters run.
	@stowage tools install --quiet stowage-simulate kubectl
	@mkdir -p .cache
	@cd scheduler && GOPROXY=off go test -trimpath -coverprofile=../.cache/coverage-go.out ./...
	@cd scheduler && go tool cover -func=../.cache/coverage-go.out | awk 'END { print "Go: " $$NF " of statements" }'
	@pytest -q -m "not e2e and not chart and not browser and not nightly" --cov --cov-report=
	@echo "Python: $$(coverage report --format=total) % of lines"

# None of these needs another one, nor the whole machine.
.PHONY: checks
checks: lint type verify-proto test-go-race vet-go-minors

.PHONY: verify
verify: $(READY) ## Everything that CI runs; the tests on clusters have the machine to themselves.
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target checks
	@$(MAKE) --no-print-directory test-python TOUCHED_TESTS="$$(ci/touched-tests | xargs)"

.PHONY: proto
proto: $(READY) devtools ## Generate Python and Go from the contract.
	@ci/proto .

.PHONY: verify-proto
verify-proto: $(READY) devtools ## Check that the generated code is that of the contract.
	@ci/verify-proto

.PHONY: lock
lock: $(READY) ## Resolve the Python dependencies anew, with hashes and without addresses.
	@uv pip compile pyproject.toml optimizer/pyproject.toml benchmarks/strategies/pyproject.toml \
	  --no-emit-package stowage-optimizer --no-emit-package stowage-strategies --group dev --group docs \
	  --extra containers --extra sweep --upgrade --generate-hashes --no-emit-index-url \
	  --no-header --no-annotate --python-version 3.11 -o requirements.lock -q
	@uv pip compile optimizer/pyproject.toml --constraint requirements.lock --generate-hashes --no-emit-index-url \
	  --no-header --no-annotate --python-version 3.11 -o ci/images/optimizer/requirements.lock -q

.PHONY: clean
clean: ## Stop and remove every cluster of Stowage, and the results.
	@if [ -x $(VENV)/bin/stowage ]; then stowage down --all; fi
	@rm -rf $(RESULTS)
