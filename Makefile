# Needs python3 (>= 3.11) with pip; each target sets up the rest, and finds it done the second time.
PYTHON ?= python3
VENV ?= .venv

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
RUNTIME := $(VENV)/.runtime-ready
DEV := $(VENV)/.dev-ready
TRIAL := build/trial
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header

.DEFAULT_GOAL := help
.PHONY: help setup demo test audit bench check format docs lock package clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

setup: $(DEV) ## create .venv with everything for development

demo: $(RUNTIME) ## evaluate the two demo agents: no key, no service
	$(BIN)/agenteval demo

test: $(DEV) ## run every test that needs no service
	$(BIN)/pytest

audit: $(DEV) ## run the same tests with the full counts: more kills, more generated examples
	FULL_COUNTS=1 $(BIN)/pytest

bench: $(DEV) ## measure speed, uptake, faulty answers and attacks: some minutes
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.uptake
	$(BIN)/python -m benchmarks.conformance
	$(BIN)/python -m benchmarks.attack

check: $(DEV) ## formatting, lint, types, import rules, generated pages
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m docs.generate --check

format: $(DEV) ## format the code and apply the safe fixes
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(DEV) ## write docs/reference from the code
	$(BIN)/python -m docs.generate

lock: $(DEV) ## pin the newest dependencies that pyproject.toml allows
	$(PIP) install uv
	$(COMPILE) --upgrade pyproject.toml --output-file requirements.lock
	$(COMPILE) --upgrade pyproject.toml --group dev --constraint requirements.lock --output-file requirements-dev.lock

package: ## build the wheel and try it in an environment of its own
	rm -rf dist $(TRIAL)
	$(PYTHON) -m venv $(TRIAL)
	$(TRIAL)/bin/python -m pip --quiet wheel --no-deps --wheel-dir dist .
	$(TRIAL)/bin/python -m pip --quiet install --require-hashes --requirement requirements.lock
	$(TRIAL)/bin/python -m pip --quiet install --no-deps dist/*.whl
	$(TRIAL)/bin/python .ci/footprint.py
	$(TRIAL)/bin/agenteval --help

clean: ## remove everything that a target made, runs in .agenteval excepted
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "AgentEval needs Python 3.11 or newer; name one with make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

$(RUNTIME): requirements.lock pyproject.toml | $(BIN)/python
	$(PIP) install --require-hashes --requirement requirements.lock
	$(PIP) install --no-deps --editable .
	@touch $@

$(DEV): requirements-dev.lock $(RUNTIME)
	$(PIP) install --require-hashes --requirement requirements-dev.lock
	@touch $@
