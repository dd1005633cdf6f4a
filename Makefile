# People use these targets: demo, test, quick, test-long, synth, bench. The others are steps towards them.
# They need Python >= 3.11, make and a package index, and write only to this checkout and the user's cache folder.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
.DEFAULT_GOAL := help
# Images of Python for containers often set it. Each of the hundreds of processes of a run would compile all it imports.
unexport PYTHONDONTWRITEBYTECODE

LAB ?= lab.yaml
OUT ?= cdk.out
# The parts of test, test-long and bench; empty means all.
PARTS ?=
# How many changes `make mutants` makes.
N ?= 100
SEED ?=
WITHIN ?=
BIN := .venv/bin
# "yes" for a whole .venv. One that an interrupted set-up left, that was copied, or whose Python is gone is removed;
# a link to another one is the person's own.
WHOLE := $(shell { \
	if kill -0 $$(cat .venv/.changing); then exit; fi; \
	if [ ! -e .venv/.changing ] && [ "$$(cat .venv/.begun)" = "$$(pwd -P)" ] && $(BIN)/python -c ""; then echo yes; \
	elif [ ! -L .venv ] && { [ -e .venv/.changing ] || [ -e .venv/.begun ]; }; then rm -rf .venv; fi; } 2>/dev/null)
# Without one, the first Python 3 that runs stacks/pythons.py: it asks all Pythons for their version, and prints the best.
PYTHON ?= $(if $(WHOLE),$(BIN)/python,$(shell \
	for python in $$(compgen -c python | grep -xE 'python(3(\.[0-9]+)?)?') \
		"$${PYENV_ROOT:-$${HOME:-}/.pyenv}"/versions/*/bin/python3; do \
		if "$$python" stacks/pythons.py 2>/dev/null; then break; fi; done))

.PHONY: help demo test test-long test-browser quick synth bench docs picture site mutations mutants lock clean

help:
	@echo "make demo       a GPU lab day on this machine, from the first window to the receipt"
	echo "make quick      the checks, and the tests nearest to your change: within a minute"
	echo "make test       every check, and every test except the long ones"
	echo "make test-long  the long tests: properties at full length, all scenarios"
	echo "make synth      the cloud assembly of LAB=$(LAB) into OUT=$(OUT)"
	echo "make bench      the figures of docs/reference/performance.md"

# --- set-up: each step runs once, and independent steps run at the same time ------------------

# A recipe ends with the time that it took.
TOOK = echo "$(1): $$SECONDS s"
# A step that changes .venv keeps the number of its make there until it is done.
CHANGE = echo $$PPID > .venv/.changing
DONE = touch $@ && rm .venv/.changing
# Sets up what a target needs, up to four steps at a time.
SET_UP = --silent --no-print-directory -j 4

# What every step needs of the machine.
.PHONY: machine
machine:
	@python="$(PYTHON)"
	if [ -z "$$python" ]; then
		echo "Lamplighter needs Python 3.11 or newer with its module venv, and no python on PATH answers as such." >&2
		exit 2
	fi
	PYTHONPATH=.:lambdas "$$python" -m local.cache_folder

.venv/.begun: | machine
	@python="$(PYTHON)"
	echo "Setting up .venv with $$("$$python" --version) …"
	mkdir -p .venv
	$(CHANGE)
	"$$python" -m venv .venv
	sed -n '/^uv==/,/[^\]$$/p' requirements/run.txt > .venv/installer.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps --requirement .venv/installer.txt
	pwd -P > $@
	$(DONE)
	$(call TOOK,.venv)

# The packages that demo and synth need: the product, synthesis and the embedded cloud.
.venv/.packages: requirements/run.txt | .venv/.begun
	@$(CHANGE)
	$(BIN)/uv pip sync --quiet --require-hashes requirements/run.txt
	$(DONE)
	$(call TOOK,packages)

.venv/.ready: .venv/.packages pyproject.toml
	@$(CHANGE)
	$(BIN)/uv pip install --quiet --no-deps --no-build-isolation --editable .
	$(DONE)

# The further packages that checks and tests need.
.venv/.checks: requirements/dev.txt .venv/.ready
	@$(CHANGE)
	$(BIN)/uv pip install --quiet --require-hashes --requirements requirements/dev.txt
	$(DONE)
	$(call TOOK,packages for checks and tests)

# The Python that compiles for Lambda. Each run looks for it until it finds one.
.PHONY: runtime-python
runtime-python: | .venv/.begun
	@PYTHONPATH=.:lambdas $(BIN)/python -m stacks.runtime_python

.build/layer/.ready: lambdas/requirements.txt | .venv/.begun runtime-python
	@$(BIN)/python -m stacks.layer
	touch $@
	$(call TOOK,packages for Lambda)

# The first build takes minutes. It needs no package, so it begins before they are installed.
.PHONY: control-plane
control-plane: | .venv/.begun
	@PYTHONPATH=.:lambdas $(BIN)/python -m local.kubernetes.binaries
	if [ $$SECONDS -gt 1 ]; then $(call TOOK,control plane); fi

# The same for Karpenter's controller. Only tests need it; without it they are skipped.
.PHONY: karpenter
karpenter: | .venv/.begun
	@PYTHONPATH=.:lambdas $(BIN)/python -m local.kubernetes.karpenter.controller
	if [ $$SECONDS -gt 1 ]; then $(call TOOK,karpenter); fi

.PHONY: to-synth to-run to-test
to-synth: .venv/.ready .build/layer/.ready
to-run: control-plane to-synth
to-test: control-plane karpenter to-synth .venv/.checks

# The CDK command line, checked against the hashes of its lock file. It runs on the node of a wheel.
.venv/bin/cdk: requirements/cdk/cdk.sh requirements/cdk/package.json requirements/cdk/package-lock.json .venv/.packages
	@mkdir -p .build/cdk
	cp requirements/cdk/*.json .build/cdk/
	$(BIN)/npm ci --prefix .build/cdk --ignore-scripts --no-audit --no-fund --loglevel=error
	sed 's|@ROOT@|$(CURDIR)|g' requirements/cdk/cdk.sh > $@
	chmod +x $@
	touch $@

.PHONY: cdk
cdk: .venv/bin/cdk

# --- targets for everybody --------------------------------------------------------------------

# On a machine where the demo was never tried, the first line says so and names the container, before any download.
demo:
	@python="$(PYTHON)"; if [ -n "$$python" ]; then "$$python" -m local.machine; fi
	$(MAKE) $(SET_UP) to-run
	$(BIN)/lamplighter local demo

synth:
	@$(MAKE) $(SET_UP) to-synth
	$(BIN)/python app.py --lab "$(LAB)" --out "$(OUT)"

# A part that passed with the same files is left out (tests/suite/keys.py); a part that a person names runs.
SUITE = $(if $(PARTS),LAMPLIGHTER_AGAIN=1) $(BIN)/python -m tests.suite
WITHOUT_CLUSTER := lint types unit project properties machines
TO_SUITE = $(if $(PARTS),$(if $(filter-out $(WITHOUT_CLUSTER),$(PARTS)),to-test,to-synth .venv/.checks),to-test)

test:
	@$(MAKE) $(SET_UP) $(TO_SUITE)
	$(SUITE) $(PARTS)

# The long run repeats no short scenario; its last part needs what they judged.
test-long:
	@$(MAKE) $(SET_UP) $(TO_SUITE)
	$(if $(PARTS),,$(BIN)/python -m tests.suite scenarios)
	LAMPLIGHTER_TESTS=long $(SUITE) $(PARTS)

quick:
	@$(MAKE) $(SET_UP) to-synth .venv/.checks
	$(BIN)/python -m tests.quick

bench:
	@$(MAKE) $(SET_UP) to-test
	$(BIN)/python -m tests.bench $(PARTS)

# `make test` does not include it, because it needs Chromium on the machine.
test-browser:
	@if ! command -v chromedriver > /dev/null; then echo "make test-browser needs Chromium and its driver: apt-get install chromium chromium-driver (Debian, Ubuntu)" >&2; exit 2; fi
	$(MAKE) $(SET_UP) to-synth .venv/.checks
	$(SUITE) browser

# --- targets for maintainers ------------------------------------------------------------------

docs:
	@$(MAKE) $(SET_UP) to-synth .venv/.checks
	$(BIN)/python -m docs.generate

picture:
	@$(MAKE) $(SET_UP) to-test
	$(BIN)/python -m docs.pictures

site: .venv/.checks
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	echo "The documentation is in .build/site; its search needs a server: $(BIN)/python -m http.server -d .build/site"

mutations:
	@$(MAKE) $(SET_UP) to-synth .venv/.checks
	$(BIN)/python -m tests.mutations

# Makes N random changes in code that decides or writes. SEED repeats a run; WITHIN names a folder or file.
mutants: .venv/.mutants
	@$(BIN)/python -m tests.mutants $(N) $(or $(SEED),$(shell echo $$RANDOM)) $(WITHIN)

.venv/.mutants: requirements/mutants.txt
	@$(MAKE) $(SET_UP) to-synth .venv/.checks
	$(CHANGE)
	$(BIN)/uv pip install --quiet --require-hashes --requirements requirements/mutants.txt
	$(DONE)

# One set of versions: the lock of everything also holds for its parts.
lock: .venv/.begun
	@$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes \
		pyproject.toml --extra local requirements/dev.in -o requirements/dev.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes \
		requirements/mutants.in -c requirements/dev.txt -o requirements/mutants.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes \
		pyproject.toml --extra local requirements/run.in -c requirements/dev.txt -o requirements/run.txt
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes requirements/go.in -o requirements/go.txt
	$(BIN)/uv pip compile -q --python-version 3.13 --python-platform aarch64-manylinux2014 --generate-hashes \
		lambdas/requirements.in -c requirements/dev.txt -o lambdas/requirements.txt

clean:
	rm -rf .venv .build cdk.out
