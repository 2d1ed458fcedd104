# make demo   sets everything up and answers one question with the embedded model
# make test   sets everything up and runs every check and test
# Both say what they do, are safe to repeat, and need no key. The others are for developers: CONTRIBUTING.md.

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
QUESTION ?= Who was US president when the Eiffel Tower was completed?
LOCK   := $(BIN)/uv pip compile pyproject.toml --universal --generate-hashes --no-annotate \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock" --quiet

.PHONY: demo test check format unit slow docs bench-small lock clean
.DELETE_ON_ERROR:

demo: $(VENV)/.demo
	$(BIN)/sleuth models pull
	$(BIN)/sleuth ask --strategy self-ask "$(QUESTION)"

# Without the models (no network, no disk space) the tests that need them are skipped, and the summary says so.
test: $(VENV)/.dev
	-$(BIN)/sleuth models pull
	-$(BIN)/sleuth models pull smollm2-135m
	$(MAKE) check
	$(BIN)/python -m pytest tests

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

unit: $(VENV)/.dev
	$(BIN)/python -m pytest tests/unit

slow: $(VENV)/.dev
	$(BIN)/python -m pytest -m slow tests

docs: $(VENV)/.dev
	$(BIN)/python docs/make.py

# ReAct's protocol with the embedded model on 30 HotpotQA questions and 30 FEVER claims: hours; goes on where it was stopped.
bench-small: $(VENV)/.dev
	$(BIN)/sleuth models pull
	$(BIN)/python benchmarks/small.py

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; name one with make PYTHON=...")'
	@echo "Setting up a virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: requirements/run.txt pyproject.toml | $(BIN)/python
	@echo "Installing Sleuth and what it stands on (requirements/run.txt)"
	@$(PIP) install --quiet --require-hashes -r requirements/run.txt
	@$(PIP) install --quiet --no-deps -e .
	@touch $@

# The embedded model's engine comes last: where it has no build, all but its tests can be run.
$(VENV)/.dev: requirements/dev.txt requirements/run.txt pyproject.toml | $(BIN)/python
	@echo "Installing Sleuth and its development tools (requirements/dev.txt)"
	@$(PIP) install --quiet --require-hashes -r requirements/dev.txt
	@$(PIP) install --quiet --no-deps -e .
	@$(PIP) install --quiet --require-hashes -r requirements/run.txt \
		|| echo "The embedded model's engine (extra local) could not be installed: its tests will be skipped."
	@touch $@

# Pins every dependency, with hashes, for all platforms and Python versions.
lock: $(VENV)/.dev
	$(LOCK) --extra local --extra bench -o requirements/run.txt
	$(LOCK) --group dev -c requirements/run.txt -o requirements/dev.txt

clean:
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .import_linter_cache .hypothesis
