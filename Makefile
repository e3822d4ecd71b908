# Every command of this repository is a target here; `make` lists them. A target
# is about a line of logic: what needs more is a program in tools/cmd.

# One set of flags, so that all builds share one cache; whatever the environment
# says about them is overridden. No version control stamp: git refuses to read
# a checkout that belongs to another user, and nothing prints the stamp.
export CGO_ENABLED := 0
export GOFLAGS := -trimpath -buildvcs=false
export GOWORK := $(CURDIR)/go.work

# The modules of go.work, by directory, and all their packages.
MODULES := $(shell sed -n 's|^[[:space:]]*\./\([a-z0-9/-]*\)$$|\1|p' go.work)
PACKAGES := $(MODULES:%=./%/...)

# Prints what links k8s.io/kubernetes, or (without) what does not: compiling all
# of Kubernetes takes long, so `lint` leaves that to `lint-long`.
WITH_KUBERNETES := go run ./tools/cmd/packages -with k8s.io/kubernetes $(PACKAGES)
WITHOUT_KUBERNETES := go run ./tools/cmd/packages -without k8s.io/kubernetes $(PACKAGES)

# Builds the linter at the version that tools/staticcheck.mod pins.
BUILD_STATICCHECK := GOWORK=off go build -C tools -modfile=staticcheck.mod -o ../bin/ tool

# Builds kind at the version that tools/kind.mod pins.
BUILD_KIND := GOWORK=off go build -C tools -modfile=kind.mod -ldflags '-s -w' -o ../bin/ sigs.k8s.io/kind

# Runs a command in the directory of each module, or of those given, on its own go.mod.
EACH_MODULE = set -e; for module in $(or $(2),$(MODULES)); do echo "$$module:" $(1); (cd "$$module" && GOWORK=off $(1)); done

# A failure of a random test says with which DRAY_ variables to run it again.
CASES ?= $(or $(DRAY_DIFFTEST_CASES),250000)
DURATION ?= 1h
HISTORIES ?= $(or $(DRAY_METAMORPHIC_HISTORIES),1000)
SEQUENCES ?= $(or $(DRAY_SEQUENCES),10000)
LIVES ?= $(or $(DRAY_PREPARING_LIVES),100)
PEER_SEQUENCES ?= $(or $(DRAY_PEER_SEQUENCES),1000)
FUZZTIME ?= 10s
export CONTAINER_TOOL ?= docker
IMAGES ?= docker.io/dray-dev

.DEFAULT_GOAL := help
.PHONY: help build test test-long test-standalone race fmt fmt-check vet staticcheck lint lint-long tidy tidy-check
.PHONY: build-driver programs demo images kind-node-image e2e
.PHONY: cases conformance conformance-plugin conformance-plugin-long difftest difftest-long metamorphic test-hwsim test-kubeletplugin hwsim-scale hwsim-sequences prepare-lives peer-sequences chaos-scheduler e2e-local local-scale fuzz bench bench-scheduler bench-throughput bench-gate bench-profile clean ci

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z][a-z0-9-]*:.*## / { printf "  %-23s %s\n", $$1, $$2 }' Makefile

build: ## Compile every package of every module
	go build $(PACKAGES)

# The driver runs on arm64 as well, and has NVIDIA's library with cgo only.
build-driver: ## Compile and vet the driver for arm64, and with cgo if there is a C compiler
	GOARCH=arm64 go build -o /dev/null ./kubeletplugin/cmd/dray-kubeletplugin
	GOARCH=arm64 go build -o /dev/null ./hwsim/cmd/dray-kubeletplugin-sim
	GOARCH=arm64 go vet ./kubeletplugin/... ./hwsim/cmd/dray-kubeletplugin-sim/...
	@cc=$$(go env CC); if command -v $${cc%% *} >/dev/null; then CGO_CFLAGS="-O2 -g -Wno-deprecated-declarations" CGO_ENABLED=1 sh -exc \
	'go build -o /dev/null ./kubeletplugin/cmd/dray-kubeletplugin; go vet ./kubeletplugin/nvml; go test -vet=off ./kubeletplugin/nvml'; \
	else echo "build-driver: not built with cgo: there is no $$cc"; fi

# The go command caches a test by the files that it reads in its own module, but
# repolint reads them all and the examples are in deploy: these always run.
test: ## Run the tests that do not link k8s.io/kubernetes; needs Go, make and git
	go test -count=1 ./tools/repolint ./e2e/examples
	@packages=$$($(WITHOUT_KUBERNETES)) && go test $$packages

# Vetting them here would vet thousands of packages of Kubernetes (lint-long does).
# e2e/driver takes minutes and is in test-kubeletplugin.
test-long: ## Run the tests that link k8s.io/kubernetes; minutes to compile once
	@packages=$$($(WITH_KUBERNETES)) && go test -vet=off $$(echo "$$packages" | grep -v '/e2e/driver$$')

# A test binary that links k8s.io/kubernetes is compiled by test-long only.
test-standalone: ## Build and vet each module without the workspace
	@$(call EACH_MODULE,go build ./...)
	@$(call EACH_MODULE,go vet ./...,$(filter-out bench e2e scheduler,$(MODULES)))

# The detector makes tests ten times slower, and random ones find no more races
# in more cases.
race: ## Run the tests under the race detector, if there is a C compiler
	@cc=$$(go env CC); if command -v $${cc%% *} >/dev/null; then \
	packages=$$($(WITHOUT_KUBERNETES)) && \
	DRAY_DIFFTEST_CASES=300 CGO_ENABLED=1 go test -race -short -vet=off -timeout 30m $$packages; \
	else echo "race: skipped: the race detector needs a C compiler, and there is no $$cc"; fi

fmt: ## Format the Go files
	"$$(go env GOROOT)/bin/gofmt" -w $(MODULES)

fmt-check: ## Report Go files that gofmt would change
	@files=$$("$$(go env GOROOT)/bin/gofmt" -l $(MODULES)) && if [ -n "$$files" ]; then \
	echo "gofmt would change (run make fmt):"; echo "$$files"; exit 1; fi

vet: ## Run go vet on what does not link k8s.io/kubernetes
	@packages=$$($(WITHOUT_KUBERNETES)) && go vet $$packages

staticcheck: ## Run staticcheck on what does not link k8s.io/kubernetes
	@packages=$$($(WITHOUT_KUBERNETES)) && $(BUILD_STATICCHECK) && bin/staticcheck $$packages

lint: fmt-check vet staticcheck ## Run all linters on what does not link k8s.io/kubernetes

lint-long: ## Run vet and staticcheck on what links k8s.io/kubernetes
	@packages=$$($(WITH_KUBERNETES)) && if [ -z "$$packages" ]; then echo "lint-long: no package links k8s.io/kubernetes"; \
	else go vet $$packages && $(BUILD_STATICCHECK) && bin/staticcheck $$packages; fi

tidy: ## Tidy the go.mod of each module
	@$(call EACH_MODULE,go mod tidy)

tidy-check: ## Report modules whose go.mod or go.sum is not tidy
	@$(call EACH_MODULE,go mod tidy -diff)

cases: ## Ask about the situations of public reports; the last line says how many are right
	@go run ./tools/cmd/figure -prefix 'cases: ' -- go test ./allocator -run '^TestPublicCases$$' -v -count=1

conformance: ## Run upstream's own allocator suite on our allocator
	@go run ./tools/conformance

conformance-plugin: ## Run the tests of the in-tree scheduler plugin on our allocator and our plugin; minutes to compile once
	@go run ./tools/conformance -suite allocator-in-tree,testplugin,plugin-tests,integration-default

conformance-plugin-long: ## Run upstream's DRA integration tests with all features on our plugin, its short workloads on our allocator
	@go run ./tools/conformance -suite integration-all,allocator-in-tree-workloads

difftest: ## Compare with upstream's allocator on CASES random cases, about 3 minutes
	@DRAY_DIFFTEST_CASES=$(CASES) go run ./tools/cmd/figure -prefix 'difftest: ' -- \
	go test ./allocator/difftest -run '^TestDifferential$$' -v -count=1 -timeout 30m

difftest-long: ## The same for DURATION, by default 1h
	@DRAY_DIFFTEST_DURATION=$(DURATION) go run ./tools/cmd/figure -prefix 'difftest: ' -- \
	go test ./allocator/difftest -run '^TestDifferential$$' -v -count=1 -timeout 0

metamorphic: ## Compare the incremental inventory with one rebuilt, over HISTORIES
	@DRAY_METAMORPHIC_HISTORIES=$(HISTORIES) go run ./tools/cmd/figure -prefix 'metamorphic: ' -- \
	go test ./allocator/metamorphic -run '^TestMetamorphic$$' -v -count=1 -timeout 30m

# The program that is the servers is built apart: it is large, and stays as it is
# while the test is worked on.
chaos-scheduler: ## Kill the scheduler between its calls to a real API server: SEED, KILLS, DURATION
	@go build -ldflags '-s -w' -o bin/dray-local ./e2e/cmd/dray-local
	@go run ./e2e/cmd/chaos-scheduler --binary bin/dray-local $(if $(SEED),--seed $(SEED)) $(if $(KILLS),--kills $(KILLS)) \
	$(if $(filter-out file,$(origin DURATION)),--duration $(DURATION))

# What is left of failures is in build/e2e-failures.
e2e-local: ## Try what Dray promises on a local cluster; the last line says how many promises hold
	@go build -ldflags '-s -w' -o bin/dray-local ./e2e/cmd/dray-local
	@go run ./tools/cmd/counttests -name 'e2e local' -whole -- -count=1 -timeout 20m ./e2e/suite -args -dray-local=$(CURDIR)/bin/dray-local -keep=$(CURDIR)/build/e2e-failures

local-scale: ## Run 200 pods with claims on 100 hollow nodes of 8 GPUs; the last line says what it took
	@go build -ldflags '-s -w' -o bin/dray-local ./e2e/cmd/dray-local
	@go run ./e2e/cmd/local-scale --binary bin/dray-local

test-hwsim: ## Test simulated hardware, alone and with the allocator and the API's validation
	@go run ./tools/cmd/counttests -name hwsim -- -vet=off ./hwsim/... ./e2e/machines ./e2e/partitioning

# Tests that are played in parallel mostly wait.
test-kubeletplugin: ## Test the driver: alone, on simulated GPUs, and as a process that is killed, with an API server
	@go run ./tools/cmd/counttests -name kubeletplugin -- -vet=off -timeout 20m -parallel 4 ./kubeletplugin/... ./hwsim/cmd/dray-kubeletplugin-sim/... ./e2e/preparing ./e2e/driver

# Continuous integration plays few, in test-kubeletplugin.
peer-sequences: ## Play PEER_SEQUENCES random sequences of the driver and the kubelet's own code, about half an hour
	@DRAY_PEER_SEQUENCES=$(PEER_SEQUENCES) go run ./tools/cmd/figure -prefix 'peer: ' -- \
	go test ./e2e/driver -run '^TestSequencesWithTheKubeletsOwnCode$$' -v -count=1 -vet=off -timeout 0

hwsim-scale: ## Make 5,000 nodes of 8 GPUs with every MIG placement; the last line says what it took
	@go run ./hwsim/cmd/hwsim-scale

hwsim-sequences: ## Prepare what the allocator gives out on simulated GPUs, in SEQUENCES histories a machine
	@DRAY_SEQUENCES=$(SEQUENCES) go run ./tools/cmd/figure -prefix 'sequences: ' -- \
	go test ./e2e/partitioning -run '^TestWhatTheAllocatorGivesOutTheHardwareAccepts$$' -v -count=1 -timeout 60m

# What the demonstration and the suite run. kubectl is Kubernetes' own.
programs: ## Build the programs that the demonstration and documents type
	@echo "building; with empty caches that takes 10 to 16 minutes, seconds afterwards"
	@go build -ldflags '-s -w' -o bin/ ./e2e/cmd/dray-local ./e2e/cmd/dray-demo ./hwsim/cmd/hwsim k8s.io/kubernetes/cmd/kubectl

demo: programs ## Show everything on a local cluster of simulated machines: ONLY=example
	@bin/dray-demo $(if $(ONLY),--only $(ONLY)) $(if $(DOCUMENTS),--document $(DOCUMENTS))

# The third image is for the pods of the suite, from a Debian package, or pulled where there are none. Old
# engines have the classic builder alone.
images: ## Build container images of the scheduler, the simulated driver, and busybox: CONTAINER_TOOL, IMAGES=registry/name
	@go build -ldflags '-s -w' -o build/images/ ./scheduler/cmd/dray-scheduler ./hwsim/cmd/dray-kubeletplugin-sim
	@set -e; export DOCKER_BUILDKIT=0; for program in dray-scheduler dray-kubeletplugin-sim; do \
	$(CONTAINER_TOOL) build --quiet --tag $(IMAGES)/$$program:latest --build-arg PROGRAM=$$program -f deploy/images/Dockerfile build/images; done
	@if ! command -v apt-get >/dev/null; then $(CONTAINER_TOOL) pull docker.io/library/busybox:1.37 && \
	exec $(CONTAINER_TOOL) tag docker.io/library/busybox:1.37 $(IMAGES)/busybox:latest; fi; \
	test -x build/images/busybox || deploy/images/debian-program busybox-static /bin/busybox build/images/busybox; \
	DOCKER_BUILDKIT=0 $(CONTAINER_TOOL) build --quiet --tag $(IMAGES)/busybox:latest -f deploy/images/busybox.Dockerfile build/images

kind-node-image: ## Build a kind node image from Debian packages and Go modules, and print its name: CONTAINER_TOOL
	@deploy/kind/engine-up
	@deploy/kind/node-image

# Where there can be no container engine, deploy/kind/engine-up says so and exits with 3.
# What is left of failures is in build/e2e-failures.
e2e: ## Try what Dray promises on a kind cluster, with real kubelets and containers: CONTAINER_TOOL, NODE_IMAGE, KEEP=1
	@deploy/kind/engine-up
	@$(MAKE) --no-print-directory images IMAGES=docker.io/dray-dev
	@$(BUILD_KIND)
	@image=$${NODE_IMAGE:-$$(deploy/kind/node-image --or-published)} && echo "nodes are of $$image" && \
	go run ./tools/cmd/counttests -name 'e2e kind' -whole -- -count=1 -vet=off -timeout 90m $(if $(RUN),-run '$(RUN)') ./e2e/suite -args \
	-kind=$(CURDIR)/bin/kind -kind-tool=$(CONTAINER_TOOL) -kind-image="$$image" -pods=60 $(if $(KEEP),-kind-keep) -keep=$(CURDIR)/build/e2e-failures

prepare-lives: ## Let claims come and go on simulated nodes, with kills and reboots, in LIVES lives
	@DRAY_PREPARING_LIVES=$(LIVES) go run ./tools/cmd/figure -prefix 'lives: ' -- \
	go test ./e2e/preparing -run '^TestLivesOfANode$$' -v -count=1 -timeout 60m

# To look for a target is to link the package's tests, so none may be where that
# means all of Kubernetes.
fuzz: ## Run every native fuzz target for FUZZTIME, by default 10s
	@packages=$$($(WITHOUT_KUBERNETES)) && go run ./tools/cmd/fuzz -fuzztime $(FUZZTIME) $$packages

bench: ## Measure the allocator beside upstream's, under 10 minutes; tables last
	@go run ./bench/cmd/draybench -out build/bench/results.txt $(if $(BENCH),-run '$(BENCH)')

bench-scheduler: ## Measure the scheduler plugin beside Kubernetes' own, about 8 minutes; tables last
	@go run -ldflags '-s -w' ./bench/cmd/schedbench -out build/bench/scheduler.txt $(if $(BENCH),-run '$(BENCH)')

bench-throughput: ## Measure pods a second with an API server, in the workloads of scheduler_perf: BENCH, ROUNDS; hours
	@go build -ldflags '-s -w' -o build/etcd/etcd go.etcd.io/etcd/server/v3
	@go build -ldflags '-s -w' -o bin/perfbench ./bench/cmd/perfbench
	@bin/perfbench -out build/bench/throughput.txt $(if $(BENCH),-run '$(BENCH)') $(if $(ROUNDS),-n $(ROUNDS))

bench-gate: ## Hold counted work to the ranges of bench/gate/ranges.yaml
	@go run ./bench/cmd/benchgate

bench-profile: ## Write CPU, wall-clock and memory profiles of the cases that match BENCH
	@go run ./bench/cmd/draybench -profile build/profiles -run '$(or $(BENCH),$(error say which cases: make bench-profile BENCH=^F9/g=8$$))'

clean: ## Remove what the other targets wrote
	rm -rf bin build

ci: ## Run what continuous integration runs
	.ci/run
