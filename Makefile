# `make demo` and `make test` set up everything they need in .venv; nothing is installed elsewhere.
# Another interpreter: make demo PYTHON=python3.12

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SUPPORTED := (3, 11) <= sys.version_info[:2] <= (3, 14)
ifndef PYTHON
PYTHON := $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(not ($(SUPPORTED)))' 2>/dev/null && echo $$p && break; done)
endif
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# Processes that share the tests; one a core. One test after the other: make test WORKERS=0
WORKERS := auto

# A cache of compilers, where there is one: projects of a target share most of their sources, and
# each has a folder of its own.
CACHE := $(firstword $(wildcard /usr/lib/ccache /usr/lib64/ccache /opt/homebrew/opt/ccache/libexec))
test test-slow test-long: export PATH := $(addsuffix :,$(CACHE))$(PATH)
test test-slow test-long: export CCACHE_NOHASHDIR := 1

.PHONY: help demo test test-slow test-long bench docs site lint setup clean

help:
	@echo "make demo       compile, build and run a trained network on this machine"
	@echo "make test       ruff, mypy and the default tests"
	@echo "make test-slow  the tests that take minutes"
	@echo "make test-long  those that take longer, and more of a kind: most of an hour"
	@echo "make bench      every table of the documents anew, about an hour; QUICK=1: a small part"
	@echo "make docs       pictures of the documents, photographs of four reports (Chromium), the site"
	@echo "make clean      remove .venv, caches and build outputs"

demo: $(READY)
	@$(BIN)/match-aie demo

test: lint
	@echo "== pytest (without the slow tests)"
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal

test-slow: $(READY)
	@echo "== pytest (slow tests)"
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m "slow and not long"

test-long: $(READY)
	@echo "== pytest (long tests)"
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m long

bench: $(READY)
	@$(BIN)/python benchmarks/run_all.py $(if $(QUICK),--quick)

# Pictures stand in docs/pictures, photographs in build/pictures, the site in build/site.
docs: $(READY)
	@$(BIN)/python benchmarks/pictures.py
	@$(MAKE) --no-print-directory site

site: $(READY)
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet

lint: $(READY)
	@echo "== ruff"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo "== mypy"
	@$(BIN)/mypy

setup: $(READY)

$(READY): setup.py pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "match_aie needs Python 3.11 to 3.14; none was found on PATH." \
		"Say which: make PYTHON=/path/to/python3.12"; exit 1; }
	@command -v "$(PYTHON)" >/dev/null || { echo "there is no $(PYTHON)"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(not ($(SUPPORTED)))' || { echo "$(PYTHON) is" \
		"`$(PYTHON) --version 2>&1`, and match_aie needs Python 3.11 to 3.14." \
		"Say which: make PYTHON=/path/to/python3.12"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) cannot make virtual" \
		"environments. On Debian or Ubuntu: apt install python3-venv"; exit 1; }
	@echo "== setting up $(VENV) with `$(PYTHON) --version` (once; about two minutes, 1.3 GB)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -c constraints.txt setuptools
	@$(BIN)/python -m pip install -c constraints.txt --no-build-isolation -e '.[dev]'
	@touch $@

clean:
	rm -rf $(VENV) build *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find match_aie targets cost_models templates tests benchmarks -name __pycache__ -exec rm -rf {} +
