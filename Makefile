# `make up` and `make test` need python3 (3.11 or newer) and nothing else; the rest is set up here, once.

ARGS ?=
# How many processes run tests at a time, at most; never more than there are cores.
WORKERS ?= 2
BIN := .venv/bin
export PYTHON

.DEFAULT_GOAL := help
.PHONY: help up test check bench clean

help:  ## Show this.
	@sed -n 's/^\([a-z]*\):.*## /  make \1\t/p' Makefile

up: .venv/run.stamp  ## Start Rota on SQLite, with a small demo. Options: make up ARGS="--port 8080"
	@$(BIN)/rota up $(ARGS)

test: .venv/dev.stamp  ## Run all tests. Some of them: make test ARGS="-k queue"
	@server=$$(scripts/ensure-redis) && sidekiq=$$(scripts/ensure-sidekiq) && \
	ROTA_TEST_REDIS_SERVER="$$server" ROTA_TEST_SIDEKIQ="$$sidekiq" $(BIN)/python -m pytest -n auto --maxprocesses=$(WORKERS) $(ARGS)

check: .venv/dev.stamp  ## Lint, format and types.
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy --strict

bench: .venv/dev.stamp  ## Measure. Options: make bench ARGS="--help"
	@$(BIN)/python -m benchmarks $(ARGS)

clean:  ## Remove the virtual environment, caches and builds. Stores (*.db) stay.
	rm -rf .venv .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/run.stamp: requirements.lock pyproject.toml
	@scripts/set-up run

.venv/dev.stamp: requirements-dev.lock pyproject.toml
	@scripts/set-up dev
