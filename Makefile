# `make up` and `make test` need python3 (3.11 or newer) and nothing else; the rest is set up here, once.
# PYTHON=python3.13 names another Python; VENV=.venv-other keeps its environment beside the usual one.

ARGS ?=
# How many processes run tests at a time. Most tests wait most of the time, so there may be more of them than cores.
WORKERS ?= 4
VENV ?= .venv
BIN := $(VENV)/bin
export PYTHON VENV
# Without compiled code on disk, every process that the tests start would compile all that it imports.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help up test check docs dist bench soak mutants clean named-python

help:  ## Show this.
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' Makefile

up: $(VENV)/run.stamp  ## Start Rota on SQLite, with a small demo. Options: make up ARGS="--port 8080"
	@echo "In other terminals, \`. $(BIN)/activate\` makes \`rota\` known." >&2
	@$(BIN)/rota up $(ARGS)

test: $(VENV)/dev.stamp  ## Run all tests. Some of them: make test ARGS="-k queue"
	@server=$$(scripts/ensure-redis) && sidekiq=$$(scripts/ensure-sidekiq) && kafka=$$(scripts/ensure-kafka) && postgres=$$(scripts/ensure-postgres) && browser=$$(scripts/ensure-chromium) && \
	ROTA_TEST_REDIS_SERVER="$$server" ROTA_TEST_SIDEKIQ="$$sidekiq" ROTA_TEST_KAFKA="$$kafka" ROTA_TEST_POSTGRES="$$postgres" ROTA_TEST_CHROMIUM="$$browser" $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

check: $(VENV)/dev.stamp  ## Lint, format and types.
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy --strict

# The variable turns off an advertisement for the theme's successor.
docs: $(VENV)/docs.stamp  ## Build the manual into site/. To read it while you write: make docs ARGS=serve
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs $(or $(ARGS),build --clean) --strict

dist: $(VENV)/run.stamp  ## Build sdist and wheel into dist/, and try the wheel in an empty environment.
	@scripts/dist $(ARGS)

bench: $(VENV)/dev.stamp  ## Measure. Options: make bench ARGS="--help"
	@$(BIN)/python -m benchmarks $(ARGS)

soak: $(VENV)/dev.stamp  ## Load and random faults for 15 minutes, judged from outside. Options: make soak ARGS="--minutes 3 --store sqlite"
	@server=$$(scripts/ensure-redis) && ROTA_TEST_REDIS_SERVER="$$server" $(BIN)/python -m tests.soak $(ARGS)

mutants: $(VENV)/dev.stamp  ## Make dangerous changes one by one: which does no test notice? Options: make mutants ARGS="stores -k token"
	@server=$$(scripts/ensure-redis) && sidekiq=$$(scripts/ensure-sidekiq) && kafka=$$(scripts/ensure-kafka) && postgres=$$(scripts/ensure-postgres) && browser=$$(scripts/ensure-chromium) && \
	ROTA_TEST_REDIS_SERVER="$$server" ROTA_TEST_SIDEKIQ="$$sidekiq" ROTA_TEST_KAFKA="$$kafka" ROTA_TEST_POSTGRES="$$postgres" ROTA_TEST_CHROMIUM="$$browser" $(BIN)/python -m tests.mutants $(ARGS)

clean:  ## Remove the virtual environments, caches and builds. Stores (*.db) stay.
	rm -rf .venv .venv-newest .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist site
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

# With a Python named, set-up looks whether the environment has it.
$(VENV)/run.stamp: requirements.lock pyproject.toml $(PYTHON:%=named-python)
	@scripts/set-up run

$(VENV)/dev.stamp: requirements-dev.lock pyproject.toml $(PYTHON:%=named-python)
	@scripts/set-up dev

$(VENV)/docs.stamp: requirements-docs.lock pyproject.toml $(PYTHON:%=named-python)
	@scripts/set-up docs

named-python:
