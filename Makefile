# `make help` lists the targets: those with a comment behind them.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Paths are trimmed everywhere, so that the product, the tools and devstack share what is compiled.
export GOFLAGS := $(shell go env GOFLAGS) -trimpath

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)

# What to test and how: make test-only PKG=./pkg/engine/... RUN=TestFence
PKG ?= ./...
RUN ?= .
TEST_FLAGS ?= -race -count=1 -timeout=30m

# Their flags: -help lists them.
DEMO_FLAGS  ?=
BENCH_FLAGS ?= -out docs/benchmarks
CHAOS_FLAGS ?= -report docs/reliability.md

# The stack of `make stack` and `make demo`.
STACK ?= default
DEVSTACK = $$(tools/devstack/build.sh)
LINT     = $$(tools/golangci-lint/build.sh)

##@ The two commands

.PHONY: demo
demo: build ## Real servers, three replicas, two gateways through their whole lives
	go build -o bin/demo ./tools/demo
	scripts/with-stack --keep $(STACK) bash -c 'exec bin/demo -mongosh "$${MONGOSH:-mongosh}" $(DEMO_FLAGS)'

.PHONY: test
test: vet lint ## Everything: vet, lint, the model, all tests on a stack of their own, and a short form of chaos
	scripts/need gcc='gcc libc6-dev'
	go test -count=1 -timeout=20m ./pkg/engine/enginetest
	docs/model/check.sh short
	scripts/with-stack test go test $(TEST_FLAGS) ./...
	$(MAKE) chaos CHAOS_FLAGS='-short -stack chaos-short'

##@ While working

.PHONY: build
build: ## Build bin/lockstep
	CGO_ENABLED=0 go build -ldflags '$(LDFLAGS)' -o bin/lockstep ./cmd/lockstep

.PHONY: run
run: build ## One replica on the local stack, in the foreground, to try things out
	scripts/with-stack --keep $(STACK) scripts/serve-here

.PHONY: test-only
test-only: ## Test PKG (all), RUN (all) on the stack that is up, and leave it up
	scripts/need gcc='gcc libc6-dev'
	scripts/with-stack --keep $(STACK) go test $(TEST_FLAGS) -run '$(RUN)' $(PKG)

.PHONY: bench
bench: ## Measure the engine on a stack of its own, against the raw database and the plain pattern
	go build -o bin/bench ./tools/bench
	scripts/with-stack bench bin/bench $(BENCH_FLAGS)

.PHONY: chaos
chaos: ## Hurt replicas and servers for half an hour in every way we know, and check every call; -short takes two minutes
	go build -o bin/chaos ./tools/chaos
	bin/chaos $(CHAOS_FLAGS)

.PHONY: soak
soak: ## Simulate replicas for SOAK (30m), on seeds never tried before
	LOCKSTEP_SOAK=$(or $(SOAK),30m) go test -v -count=1 -timeout 0 -run SimulationSoak ./pkg/engine/enginetest

.PHONY: model
model: ## Check the model of the claim protocol in every order of things; SHORT=1 for less than a minute
	docs/model/check.sh $(if $(SHORT),short)

.PHONY: fuzz
fuzz: ## Feed every decoder with nonsense for FUZZTIME (1m) each
	scripts/fuzz $(or $(FUZZTIME),1m)

.PHONY: vet
vet: ## Run go vet
	go vet ./...

.PHONY: lint
lint: ## Run the linter, which also checks the arrows of the architecture
	"$(LINT)" run --allow-serial-runners ./...

.PHONY: fmt
fmt: ## Format all Go code
	"$(LINT)" fmt ./...

.PHONY: generate
generate: ## Write anew what is made from the code: diagrams, descriptions, tables, golden files
	go test -count=1 -run 'TestDocument|TestDiagrams?$$' ./internal/config ./internal/platform ./pkg/engine -update
	scripts/with-stack --keep $(STACK) go test -count=1 -run 'TestOpenAPI' ./internal/api -update
	scripts/with-stack --keep $(STACK) go test -count=1 -p=1 ./internal/cli ./scripts/mongosh -update

.PHONY: clean
clean: ## Remove what was built here; stacks and the cache stay
	rm -rf bin dist .stack

##@ The local stack

.PHONY: stack
stack: ## Start the servers, and say how to look inside (STACK=default)
	"$(DEVSTACK)" up --name $(STACK)

.PHONY: stack-down
stack-down: ## Stop them; PURGE=1 removes their data, too
	"$(DEVSTACK)" down --name $(STACK) $(if $(PURGE),--purge)

.PHONY: stack-status
stack-status: ## Show their components
	"$(DEVSTACK)" status --name $(STACK)

##@ Images

.PHONY: image
image: ## Build the image lockstep:VERSION with Docker
	docker build --build-arg VERSION=$(VERSION) -t lockstep:$(VERSION) .

##@ Help

.PHONY: help
help: ## Print this
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
