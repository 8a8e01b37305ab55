# Everything starts here: `make demo` and `make test` set up what they need on a fresh machine.
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTEST_ARGS ?=
FUZZ_SECONDS ?= 300
FUZZERS ?= sql kernels pipelines kills

.DEFAULT_GOAL := help
.PHONY: help setup java demo test lint fuzz bench soak clean

help: ## show this list
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 14

setup: java $(STAMP) ## make .venv with millstream and its tools; look for Java 17 or newer

java:
	@scripts/java.sh

$(STAMP): pyproject.toml constraints.txt
	@scripts/venv.sh $(VENV)
	@echo "Installing millstream into $(VENV) (a few minutes the first time)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev]'
	-@$(BIN)/millstream prepare
	@touch $@

demo: setup ## join the example's orders to their shipments, once
	cd examples/orders && ../../$(BIN)/millstream run job.sql --once --flush --fresh

test: setup ## run all tests that need no service and little time (PYTEST_ARGS="…" for more)
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: setup ## ruff, mypy and the import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo

fuzz: setup ## run the fuzzers with random seeds, each for FUZZ_SECONDS (300); FUZZERS="sql pipelines"
	@status=0; for each in $(FUZZERS); do \
	  $(BIN)/python -m tests.fuzz $$each --seconds $(FUZZ_SECONDS) || status=1; done; exit $$status

bench: setup ## run the benchmarks
	@test -d bench || { echo "There is no bench/ folder yet."; exit 1; }
	$(BIN)/python -m bench

soak: setup ## run a job of two queries for MINUTES=30 and check that its memory stays flat
	$(BIN)/python -m bench.soak --minutes $(or $(MINUTES),30)

clean: ## remove .venv and everything that was built or written
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	rm -rf spark-warehouse metastore_db derby.log out checkpoints
	rm -rf examples/*/out examples/*/.millstream
	find src tests docs examples -name __pycache__ -type d -prune -exec rm -rf {} +
