# The four targets that people use: demo, test, synth, bench. All else is a step towards them.
# Needs Python >= 3.11, make and a package index; writes to this checkout and the user's cache folder only.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help

LAB ?= lab.yaml
OUT ?= cdk.out
# Lambda runs Python 3.13: the same language version is taken where the machine has it.
PYTHON ?= $(shell for p in python3.13 $$HOME/.pyenv/versions/3.13*/bin/python python3 python; do \
	"$$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)
BIN := .venv/bin

.PHONY: help demo test test-browser synth bench setup lint types unit scenarios docs lock clean

help:
	@echo "make demo    a GPU lab day on this machine, from the first window to the receipt"
	echo "make test    every check and test"
	echo "make synth   the cloud assembly of LAB=$(LAB) into OUT=$(OUT)"
	echo "make bench   the figures of docs/reference/performance.md"

# --- set-up, each step once -------------------------------------------------------------------

.venv/.ready: requirements/dev.txt pyproject.toml
	@if [ -z "$(PYTHON)" ]; then echo "Lamplighter needs Python 3.11 or newer; none was found on PATH." >&2; exit 2; fi
	echo "Setting up .venv with $$($(PYTHON) --version) …"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$(sed -n 's/^\(uv==[^ ]*\).*/\1/p' requirements/dev.txt)"
	$(BIN)/uv pip sync --quiet --require-hashes requirements/dev.txt
	$(BIN)/uv pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

.build/layer/.ready: .venv/.ready lambdas/requirements.txt
	@$(BIN)/python -m stacks.layer
	touch $@

setup: .venv/.ready .build/layer/.ready

.PHONY: control-plane
control-plane: .venv/.ready
	@$(BIN)/python -m local.kubernetes.binaries

# --- what people run --------------------------------------------------------------------------

demo: setup control-plane
	@$(BIN)/lamplighter local demo

synth: setup
	@$(BIN)/python app.py --lab "$(LAB)" --out "$(OUT)"

bench: setup control-plane
	@$(BIN)/python -m tests.bench

test: setup control-plane lint types unit scenarios

lint: .venv/.ready
	@$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: .venv/.ready
	@$(BIN)/mypy app.py cli docs lambdas/lamplighter lambdas/handlers local stacks tests

unit: setup control-plane
	@$(BIN)/pytest -q -n 2 --dist worksteal tests/unit tests/properties tests/infra tests/local \
	  --ignore tests/local/cluster
	@$(BIN)/pytest -q -n 2 --dist loadfile tests/local/cluster

scenarios: setup control-plane
	@$(BIN)/pytest -q -n 2 --dist loadscope --no-loadscope-reorder tests/scenarios

# Chromium is the machine's own: not part of `make test`, which needs nothing but Python.
test-browser: setup
	@if ! command -v chromedriver > /dev/null; then echo "make test-browser needs Chromium and its driver: apt-get install chromium chromium-driver (Debian, Ubuntu)" >&2; exit 2; fi
	$(BIN)/pytest -q -n 2 --dist loadscope tests/browser

# --- what maintainers run ---------------------------------------------------------------------

docs: setup
	@$(BIN)/python -m docs.generate

.PHONY: picture
picture: setup control-plane
	@$(BIN)/python -m docs.pictures

.PHONY: site
site: .venv/.ready
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	echo "The documentation is in .build/site; its search needs a server: $(BIN)/python -m http.server -d .build/site"

.PHONY: mutations
mutations: setup
	@$(BIN)/python -m tests.mutations

lock: .venv/.ready
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes requirements/dev.in -o requirements/dev.txt
	$(BIN)/uv pip compile -q --python-version 3.13 --python-platform aarch64-manylinux2014 --generate-hashes \
		lambdas/requirements.in -c requirements/dev.txt -o lambdas/requirements.txt

clean:
	rm -rf .venv .build cdk.out
