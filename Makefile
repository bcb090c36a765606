# Everything here works with Go, git and make alone: tools are built from source
# and pinned in tools/go.mod. What is built for this checkout is in .local.

SHELL := /bin/sh
.SHELLFLAGS := -eu -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

GO ?= go
LOCAL := .local
BIN := $(LOCAL)/bin
MODULES := . tools hack/release test/browser test/chart test/localcluster test/localcluster/adapter test/localcluster/keda test/promql

# Another release of Kubernetes, in which a scenario of make soak runs. make verify checks
# its go.mod; make lint and make test leave it out, because they would compile
# Kubernetes once more for one short file.
KUBERNETES137 := test/localcluster/kubernetes137

# The largest file that is kept, in kB: a program that was built is above it.
LARGEST = 2000

# Those whose programs are published, or make what is.
SHIPPED := . hack/release

# Builds with a note on its progress: the local cluster compiles Kubernetes.
GOBUILD = $(GO) run ./hack/gobuild

# Go files of this repository, whatever lies in .local.
GOFILES = git ls-files --cached --others --exclude-standard -- '*.go'

# controller-gen is asked for the same things by generate and by verify.
OBJECTS = object:headerFile=hack/boilerplate.go.txt paths=./api/...
CRDS = crd paths=./api/...
ROLE = rbac:roleName=workload-variant-autoscaler-manager-role paths=./internal/controller/...
CRD_DIR := config/crd/bases
DEEPCOPY := api/v1alpha1/zz_generated.deepcopy.go
ROLE_YAML := config/rbac/role.yaml

# The protocol of KEDA's external scalers, and what writes its Go code.
PROTO := $(CURDIR)/internal/actuator/externalscaler/wire/externalscaler.proto
STUBS = $(GO) -C tools run ./protostubs

# What makes one script and one style sheet of the sources of each page.
BUNDLE = $(GO) -C tools run ./bundle

# The packages that others build on, whose exported API is kept in api.txt.
PUBLIC := $(wildcard pkg/*)

##@ General

.PHONY: help
help: ## Show this list
	@awk 'BEGIN { FS = ":.*## "; print "usage: make TARGET [VARIABLE=value]" } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z][a-z0-9-]*:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: clean
clean: cluster-down ## Stop the local cluster and remove what was built
	rm -rf bin dist $(LOCAL)

##@ Development

.PHONY: run
run: demo build localcluster ## Show the autoscaler at work in a local cluster (DURATION=5m: end by itself)
	@exec $(BIN)/demo $(if $(DURATION),--duration $(DURATION))

# What cannot be run is refused before the rest is built.
.PHONY: demo
demo:
	@CGO_ENABLED=0 $(GOBUILD) -o $(BIN)/demo ./test/demo
	@$(BIN)/demo --check $(if $(DURATION),--duration $(DURATION))

.PHONY: build
build: ## Build bin/manager and bin/wva
	@CGO_ENABLED=0 $(GOBUILD) -o bin/manager ./cmd/manager
	@CGO_ENABLED=0 $(GOBUILD) -o bin/wva ./cmd/wva

.PHONY: generate
generate: controller-gen ## Regenerate what is made of the source: the CRD, roles, the chart's copies, deepcopy functions, gRPC stubs, pages, references, pkg/*/api.txt
	$(BIN)/controller-gen $(OBJECTS)
	$(BIN)/controller-gen $(CRDS) output:crd:dir=$(CRD_DIR)
	$(BIN)/controller-gen $(ROLE) output:rbac:dir=$(dir $(ROLE_YAML))
	$(STUBS) $(PROTO)
	$(BUNDLE)
	$(GO) run ./hack/apitext $(PUBLIC)
	CGO_ENABLED=0 $(GO) -C test/chart test . -run Generated -update
	CGO_ENABLED=0 $(GO) test ./internal/config ./internal/metrics ./internal/record ./cmd/wva ./api/v1alpha1 ./internal/archtest ./internal/doctor ./test/faults -run 'Reference|Schema' -update
	@$(MAKE) samples

.PHONY: samples
samples: ## Write anew what pages show: of wva explain, events and conditions from recorded cycles that are decided again, of commands what they print
	CGO_ENABLED=0 $(GO) test ./cmd/wva ./cmd/manager -run 'Samples|TestPagesShow' -update

##@ Checks

.PHONY: test
# A heap may grow to five times what is in use between two collections.
test: export GOGC ?= 400
test: gotest build localcluster ## Run unit and API tests of all modules (under -race where a C compiler is found)
	@# Not under -race what would compile Kubernetes or Prometheus once more.
	@$(BIN)/gotest -m . -m tools -plain test/lab -plain hack/release -plain test/browser -plain test/chart -plain test/promql -plain test/localcluster -- $(TESTFLAGS) ./...
	@$(BIN)/gotest -plain . -- $(TESTFLAGS) $(FEWER)

# The packages whose tests have fewer cases under -race (internal/race): they run without it too.
FEWER = $(addprefix ./,$(sort $(dir $(shell grep -rl --include='*_test.go' '/internal/race"' internal))))

.PHONY: e2e
ifeq ($(origin KUBECONFIG),command line)
# Not where only the environment has one, as the shells of many have.
e2e: gotest
	@$(ANYCLUSTER) $(TESTFLAGS) ./test/anycluster -kubeconfig='$(abspath $(KUBECONFIG))' -image='$(IMG)' -labels='$(LABELS)' -archive='$(abspath $(IMG_ARCHIVE))'
else
e2e: gotest build localcluster prometheus-adapter draw helm ## Run the end-to-end suite in the local cluster, or its labelled scenarios in yours (KUBECONFIG=file IMG=name:tag LABELS=zero,model)
	@$(BIN)/gotest -v -plain . -- -count=1 -timeout 35m -tags e2e $(TESTFLAGS) ./test/e2e/...
	@$(if $(TESTFLAGS),,$(MAKE) anycluster)
endif

ANYCLUSTER = $(BIN)/gotest -v -plain . -- -count=1 -timeout 2h -tags anycluster

# The local cluster as if it were a user's own: only its kubeconfig is used.
.PHONY: anycluster
anycluster: gotest build localcluster helm
	@$(BIN)/localcluster down --dir $(LOCAL)/anycluster # what an interrupted run left
	@trap '$(BIN)/localcluster down --dir $(LOCAL)/anycluster' EXIT; trap 'exit 130' INT TERM; \
	$(BIN)/localcluster up --dir $(LOCAL)/anycluster --image workload-variant-autoscaler=bin/manager; \
	$(ANYCLUSTER) ./test/anycluster -kubeconfig='$(CURDIR)/$(LOCAL)/anycluster/kubeconfig' -image=localhost/workload-variant-autoscaler:dev -labels=saturation,model,zero

# What make soak runs: a steady fleet of 200 for three minutes, and what is for it alone.
SOAK := TestASteadyFleet|$(shell sed -n 's/^func \(Test[A-Za-z0-9]*\).*/\1/p' $$(grep -l '^//go:build e2e && soak' test/e2e/*_test.go) | paste -sd '|' -)

.PHONY: soak
soak: gotest build localcluster kubernetes137 keda helm ## Run what takes longer than CI may: random decisions and tenants (SOAK_FOR=10m each), old rules put back, the local cluster and a day in it
	CGO_ENABLED=0 $(GO) test ./internal/sim/soak -count=1 -v -run 'TestSoak$$|FoundCases' -soak $(or $(SOAK_FOR),10m) -timeout 0
	CGO_ENABLED=0 $(GO) test ./internal/sim/soak -count=1 -tags soak -run OldRules -timeout 60m
	CGO_ENABLED=0 $(GO) test ./internal/sim/soak -count=1 -tags soak -run CounterfactualsOfMany -v -timeout 60m
	CGO_ENABLED=0 $(GO) test ./test/lab -count=1 -v -run MeasuredAttainment -all
	CGO_ENABLED=0 $(GO) test ./test/tenants -count=1 -v -run 'NoTenant|FoundCases' -soak $(or $(SOAK_FOR),10m) -timeout 0
	CGO_ENABLED=0 $(GO) test ./test/tenants -count=1 -tags soak -run 'OldRules|FillsABudget' -timeout 60m
	@$(BIN)/gotest -v -plain . -- -count=1 -timeout 150m -tags e2e,soak -run '$(SOAK)' $(TESTFLAGS) ./test/e2e/... -steady=3m -steady-fleet=100
	@$(MAKE) browser LIVE=1

.PHONY: browser
browser: gotest $(if $(LIVE),demo build localcluster helm) ## Drive the dashboard's pages in a real Chromium (CHROMIUM=program; LIVE=1: with make run too)
	@WVA_BROWSER=required $(BIN)/gotest -plain test/browser -- -count=1 -timeout $(if $(LIVE),15m,3m) $(TESTFLAGS) . $(if $(LIVE),-live)

.PHONY: lint
lint: golangci-lint ## Run the linters, and look for words that are not used
	@$(GO) run ./hack/words
	@# Without C, as the programs are built, so that nothing is compiled twice.
	for module in $(MODULES); do \
		(cd $$module && CGO_ENABLED=0 $(CURDIR)/$(BIN)/golangci-lint run --config $(CURDIR)/.golangci.yml ./...); done

.PHONY: verify
verify: controller-gen ## Check that generated files, modules and formatting are up to date, and what is fetched is pinned
	@tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; \
	$(BIN)/controller-gen $(OBJECTS) output:object:dir="$$tmp/object"; \
	$(BIN)/controller-gen $(CRDS) output:crd:dir="$$tmp/crd"; \
	$(BIN)/controller-gen $(ROLE) output:rbac:dir="$$tmp"; \
	$(GO) run ./hack/apitext -o "$$tmp" $(PUBLIC); \
	mkdir "$$tmp/proto"; $(STUBS) -o "$$tmp/proto" $(PROTO); \
	same=true; \
	for stubs in "$$tmp"/proto/*; do \
		git --no-pager diff --no-index -- "$(dir $(PROTO))$$(basename "$$stubs")" "$$stubs" || same=false; done; \
	for package in $(PUBLIC); do \
		git --no-pager diff --no-index -- "$$package/api.txt" "$$tmp/$$package/api.txt" || same=false; done; \
	git --no-pager diff --no-index -- $(DEEPCOPY) "$$tmp/object/$(notdir $(DEEPCOPY))" || same=false; \
	git --no-pager diff --no-index -- $(CRD_DIR) "$$tmp/crd" || same=false; \
	if [ -e $(ROLE_YAML) ] || [ -e "$$tmp/role.yaml" ]; then \
		git --no-pager diff --no-index -- $(ROLE_YAML) "$$tmp/role.yaml" || same=false; fi; \
	$(BUNDLE) -check || same=false; \
	if ! $$same; then echo "verify: generated files differ from their source: run make generate" >&2; exit 1; fi
	@for module in $(MODULES) $(KUBERNETES137); do \
		$(GO) -C $$module mod tidy -diff || \
			{ echo "verify: $$module/go.mod is not tidy: run go -C $$module mod tidy" >&2; exit 1; }; \
	done
	@$(GO) run ./hack/pins
	@built=$$(git ls-files -z | xargs -0 -r du -k | awk '$$1 > $(LARGEST)'); \
	if [ -n "$$built" ]; then printf '%s\n' "$$built"; echo "verify: no file of the repository is above $(LARGEST) kB: remove those above by git rm --cached, and name what a build leaves in .gitignore" >&2; exit 1; fi
	@files=$$($(GOFILES)); \
	if ! diff=$$("$$($(GO) env GOROOT)/bin/gofmt" -d $$files) || [ -n "$$diff" ]; then printf '%s\n' "$$diff"; echo "verify: run gofmt -w on the files above" >&2; exit 1; fi
	@echo "verify: ok"

.PHONY: vulncheck
vulncheck: govulncheck ## Look for known vulnerabilities in what is called (GOVULNDB=address of a database)
	@for module in $(SHIPPED); do echo "vulncheck: $$module"; \
		$(BIN)/govulncheck -C $$module $(if $(GOVULNDB),-db '$(GOVULNDB)') ./... || { status=$$?; \
		if [ $$status -eq 3 ]; then echo "vulncheck: $$module: the vulnerabilities above are reached" >&2; \
		else echo "vulncheck: $$module was not checked: name a database that can be reached by GOVULNDB (https:// or file://)" >&2; fi; exit $$status; }; \
	done

.PHONY: fuzz
fuzz: ## Run every fuzz test for FUZZTIME (30s); each has to try 100 inputs a second (FUZZ=regexp: some)
	@$(GO) run ./hack/fuzz -time $(or $(FUZZTIME),30s) $(if $(FUZZ),-run '$(FUZZ)')

.PHONY: bench
bench: benchstat ## Run the benchmarks COUNT (6) times and compare with the run before (BENCH=regexp)
	@mkdir -p $(LOCAL)/bench; rm -f $(LOCAL)/bench/ok
	@if [ -s $(LOCAL)/bench/new.txt ]; then mv $(LOCAL)/bench/new.txt $(LOCAL)/bench/old.txt; fi
	@{ $(GO) test -run '^$$' -bench '$(or $(BENCH),.)' -benchmem -count $(or $(COUNT),6) ./... && touch $(LOCAL)/bench/ok; } | \
		tee $(LOCAL)/bench/new.txt; test -e $(LOCAL)/bench/ok
	@cd $(LOCAL)/bench && if [ -e old.txt ]; then ../bin/benchstat old.txt new.txt; else ../bin/benchstat new.txt; fi
	@# What a collection costs against a real Prometheus: docs/developer-guide/collector-benchmark.md.
	@CGO_ENABLED=0 $(GO) -C test/promql run ./bench | tee $(LOCAL)/bench/collector.md

# Said before anything is built.
.PHONY: traces
traces:
	@test -n "$(TRACES)" || { echo 'make: no folder of traces: want TRACES=folder, with traces and profiles.json' >&2; exit 2; }

.PHONY: lab
lab: traces ## Compare policies on TRACES=folder and write docs/benchmarks.md; goes on where it was (ONLY=regexp: some scenarios, to .local/lab.md; ZOO=seed: with what lab-zoo found)
	@CGO_ENABLED=0 $(GOBUILD) -o $(BIN)/lab ./test/lab
	@$(BIN)/lab -traces "$(TRACES)" -keep $(LOCAL)/lab $(if $(ZOO),-zoo $(LOCAL)/zoo/zoo-$(ZOO).md) -commit "$$(git describe --always --dirty --abbrev=12)" $(if $(ONLY),-only '$(ONLY)' -o $(LOCAL)/lab.md) $(LABFLAGS)

.PHONY: lab-zoo
lab-zoo: traces ## Compare policies on N (100) scenarios drawn from SEED (1), to .local/zoo; goes on where it was (TRACES=folder RUN=17: one alone)
	@CGO_ENABLED=0 $(GOBUILD) -o $(BIN)/lab ./test/lab
	@$(BIN)/lab zoo -traces "$(TRACES)" -seed $(or $(SEED),1) -n $(or $(N),100) -commit "$$(git describe --always --dirty --abbrev=12)" $(if $(RUN),-run '$(RUN)') $(LABFLAGS)

.PHONY: lab-roles
lab-roles: traces ## Compare policies on a model that is served in prefill and decode, with profiles.json of TRACES=folder, and write that section of docs/benchmarks.md
	@CGO_ENABLED=0 $(GOBUILD) -o $(BIN)/lab ./test/lab
	@$(BIN)/lab roles -traces "$(TRACES)" -commit "$$(git describe --always --dirty --abbrev=12)" $(if $(ONLY),-only '$(ONLY)') $(LABFLAGS)

.PHONY: lab-learning
lab-learning: traces ## Compare ours without profiles and with wrong ones with the true ones, on TRACES=folder or on N (100) scenarios drawn from SEED, to .local/learning.md
	@CGO_ENABLED=0 $(GOBUILD) -o $(BIN)/lab ./test/lab
	@$(BIN)/lab learning -traces "$(TRACES)" -seed $(or $(SEED),0) -n $(or $(N),100) -o $(LOCAL)/learning.md $(if $(ONLY),-only '$(ONLY)') $(LABFLAGS)

.PHONY: pictures
pictures: ## Draw the dashboards of the documentation anew: Grafana's, and the pages of wva dashboard in a Chromium
	CGO_ENABLED=0 $(GO) -C test/promql test ./monitoring -run Pictures -update
	WVA_BROWSER=required CGO_ENABLED=0 $(GO) -C test/browser test . -run Pictures -update

##@ Release

# What the image is called; a tag is part of it.
IMG ?= workload-variant-autoscaler:dev
IMAGE := $(LOCAL)/image.tar
RELEASE := $(BIN)/release

# The tag is what follows the last colon, where no slash follows it: localhost:5000/foo has none.
.PHONY: tagged
tagged:
	@image='$(IMG)'; case "$${image##*/}" in ?*:?*) ;; *) \
		name="$${image%:}"; echo "make: IMG='$$image' has no tag: want name:tag, such as $${name:-foo}:dev" >&2; exit 2 ;; esac

.PHONY: docker-build
docker-build: tagged release-tool ## Build the image of manager and wva as an OCI archive, without a daemon (IMG=name:tag)
	@$(RELEASE) image --name '$(IMG)' -o $(IMAGE)

.PHONY: docker-check
docker-check: docker-build localcluster ## Measure how long the manager of that image takes to be ready: 2 s at the most
	@$(RELEASE) unpack $(IMAGE) $(LOCAL)/image
	@CGO_ENABLED=0 $(GO) -C test/chart test . -count=1 -v -run 'TheAPIServerTakesIt/the_manager_is_ready_soon' -manager $(CURDIR)/$(LOCAL)/image/manager

.PHONY: docker-push
docker-push: release-tool ## Push what docker-build made (IMG=name:tag)
	@test -f $(IMAGE) || { echo 'make: there is no $(IMAGE) to push: run make docker-build first, with the same IMG' >&2; exit 2; }
	@$(RELEASE) push $(IMAGE) '$(IMG)'

.PHONY: release
release: release-tool ## Make everything of a release in dist (VERSION=v1.2.3)
	@rm -rf dist
	@$(RELEASE) all -o dist $(if $(VERSION),--version '$(VERSION)')

.PHONY: sign
sign: release-tool ## Sign where the files in dist come from, by the workflow that runs it (KEY=file: by a key; VERSION=v1.2.3)
	@$(RELEASE) sign dist $(if $(KEY),--key '$(KEY)') $(if $(VERSION),--version '$(VERSION)')

.PHONY: release-verify
release-verify: release-tool ## Verify the files in dist by their provenance (VERSION=v1.2.3, or KEY=file with the public key)
	@$(RELEASE) verify --provenance dist/provenance.sigstore.json $(if $(KEY),--key '$(KEY)',--version '$(VERSION)') \
		$$(find dist -type f ! -name provenance.sigstore.json)

##@ Deployment

.PHONY: install
install: ## Install the CRD into the cluster that kubectl points to
	kubectl apply --server-side --force-conflicts -f $(CRD_DIR)

.PHONY: deploy
deploy: tagged ## Install the manager into the cluster that kubectl points to (IMG=name:tag)
	image='$(IMG)'; PATH="$$PATH:$(CURDIR)/$(BIN)" deploy/kubernetes/install.sh -- --set controller.image.repository="$${image%:*}" --set controller.image.tag="$${image##*:}"

.PHONY: undeploy
undeploy: ## Remove the manager from the cluster that kubectl points to
	PATH="$$PATH:$(CURDIR)/$(BIN)" deploy/kubernetes/install.sh --remove

##@ Local cluster

.PHONY: cluster-up
cluster-up: build localcluster helm ## Start a real control plane, simulated nodes, one whose pods run, and Prometheus on this machine
	@$(BIN)/localcluster up --dir $(LOCAL) --image workload-variant-autoscaler=bin/manager

.PHONY: cluster-down
cluster-down: ## Stop the local cluster
	@if [ -x $(BIN)/localcluster ]; then $(BIN)/localcluster down --dir $(LOCAL); fi

# What the targets above build for themselves. The go command decides whether
# anything has changed, so these are always asked for.

.PHONY: localcluster
localcluster:
	@$(GOBUILD) -C test/localcluster -o $(CURDIR)/$(BIN)/localcluster .
	@ln -sf localcluster $(BIN)/kubectl

.PHONY: prometheus-adapter
prometheus-adapter:
	@$(GOBUILD) -C test/localcluster/adapter -o $(CURDIR)/$(BIN)/prometheus-adapter sigs.k8s.io/prometheus-adapter/cmd/adapter

.PHONY: draw
draw:
	@$(GOBUILD) -C test/promql -o $(CURDIR)/$(BIN)/draw ./draw

# Helm as the tests of the chart know it.
.PHONY: helm
helm:
	@$(GOBUILD) -C test/chart -o $(CURDIR)/$(BIN)/helm helm.sh/helm/v4/cmd/helm

.PHONY: keda
keda:
	@$(GOBUILD) -C test/localcluster/keda -o $(CURDIR)/$(BIN)/keda-operator github.com/kedacore/keda/v2/cmd/operator
	@$(GOBUILD) -C test/localcluster/keda -o $(CURDIR)/$(BIN)/keda-adapter github.com/kedacore/keda/v2/cmd/adapter

.PHONY: kubernetes137
kubernetes137:
	@$(GOBUILD) -C $(KUBERNETES137) -o $(CURDIR)/$(BIN)/kubernetes137 .

.PHONY: gotest
gotest:
	@$(GO) build -C tools -o $(CURDIR)/$(BIN)/gotest ./gotest

.PHONY: release-tool
release-tool:
	@$(GOBUILD) -C hack/release -o $(CURDIR)/$(RELEASE) .

.PHONY: govulncheck
govulncheck:
	@$(GOBUILD) -C tools -o $(CURDIR)/$(BIN)/govulncheck golang.org/x/vuln/cmd/govulncheck

.PHONY: controller-gen
controller-gen:
	@$(GOBUILD) -C tools -o $(CURDIR)/$(BIN)/controller-gen sigs.k8s.io/controller-tools/cmd/controller-gen

.PHONY: golangci-lint
golangci-lint:
	@$(GOBUILD) -C tools -o $(CURDIR)/$(BIN)/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint

.PHONY: benchstat
benchstat:
	@$(GO) build -C tools -o $(CURDIR)/$(BIN)/benchstat golang.org/x/perf/cmd/benchstat
