# make demo   sets everything up and answers one question with the embedded model
# make test   sets everything up and runs every check and test
# Both say what they do, are safe to repeat, and need no key.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
QUESTION ?= Who was US president when the Eiffel Tower was completed?

.PHONY: demo test check unit lock clean
.DELETE_ON_ERROR:

demo: $(VENV)/.demo
	$(BIN)/sleuth models pull
	$(BIN)/sleuth ask --strategy self-ask "$(QUESTION)"

test: $(VENV)/.dev
	-$(BIN)/sleuth models pull qwen2.5-coder-1.5b smollm2-135m
	$(MAKE) check
	$(BIN)/python -m pytest tests

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

unit: $(VENV)/.dev
	$(BIN)/python -m pytest tests/unit

$(BIN)/python:
	@echo "Setting up a virtual environment in $(VENV)"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; name one with make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: requirements/run.txt pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/run.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

$(VENV)/.dev: requirements/dev.txt pyproject.toml | $(BIN)/python
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@ $(VENV)/.demo

# Pins every dependency, with hashes, for all platforms and Python versions.
lock:
	uv pip compile pyproject.toml --extra local --universal --generate-hashes --no-emit-index-url --no-annotate --quiet -o requirements/run.txt
	uv pip compile pyproject.toml --extra local --group dev --universal --generate-hashes --no-emit-index-url --no-annotate --quiet -c requirements/run.txt -o requirements/dev.txt

clean:
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .import_linter_cache
