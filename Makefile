# Entry point: `make demo` and `make test` install what they need on a new machine.
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTEST_ARGS ?=
FUZZ_SECONDS ?= 300
FUZZERS ?= sql kernels pipelines kills

.DEFAULT_GOAL := help
.PHONY: help setup java demo test coverage lint fuzz chaos bench soak clean

help: ## list the targets
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 18

setup: java $(STAMP) ## create .venv with millstream and its tools; check for Java 17 or newer

java:
	@scripts/java.sh

$(STAMP): pyproject.toml constraints.txt
	@scripts/venv.sh $(VENV)
	@echo "Installing millstream into $(VENV) (a few minutes the first time)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -c constraints.txt -e '.[dev]'
	-@$(BIN)/millstream prepare
	@touch $@

demo: setup ## run the example that joins orders with shipments
	cd examples/orders && ../../$(BIN)/millstream run job.sql --once --flush --fresh

test: setup ## run the fast tests, without external services (PYTEST_ARGS="--run-slow" for more)
	$(BIN)/python -m pytest $(PYTEST_ARGS)

coverage: setup ## measure the branch coverage of the tests (PYTEST_ARGS="…"); writes .coverage/html
	rm -rf .coverage
	@mkdir -p .coverage
	$(BIN)/coverage run -m pytest $(PYTEST_ARGS)
	$(BIN)/coverage combine -q
	$(BIN)/coverage html -q -d .coverage/html
	$(BIN)/coverage report

lint: setup ## check with ruff, mypy and the import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo

fuzz: setup ## run the fuzzers with random seeds, each for FUZZ_SECONDS (300); FUZZERS="sql pipelines"
	@status=0; for each in $(FUZZERS); do \
	  $(BIN)/python -m tests.fuzz $$each --seconds $(FUZZ_SECONDS) || status=1; done; exit $$status

chaos: setup ## kill jobs between Kafka, databases, tables and files KILLS=10 times each; their output must be exact
	MILLSTREAM_KILLS=$(or $(KILLS),10) $(BIN)/python -m pytest tests/recovery -k kill --run-slow --run-service

bench: setup ## run the benchmarks
	@test -d bench || { echo "bench/ is missing: run this in a clone of the repository."; exit 1; }
	$(BIN)/python -m bench

soak: setup ## run a job of two queries for MINUTES=30 and check that its memory does not grow
	$(BIN)/python -m bench.soak --minutes $(or $(MINUTES),30)

clean: ## remove .venv, build artifacts and output
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage
	rm -rf spark-warehouse metastore_db derby.log out checkpoints
	rm -rf examples/*/out examples/*/.millstream
	find src tests docs examples -name __pycache__ -type d -prune -exec rm -rf {} +
