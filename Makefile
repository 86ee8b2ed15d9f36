# Everything a developer or a build machine needs. `make test` works on a fresh
# checkout: it only asks for make and a python3 (3.11 or later) with venv.

PYTHON ?= python3
VENV   ?= .venv
ARGS   ?=
JOBS   ?= auto

BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
PIP    := $(BIN)/python -m pip --disable-pip-version-check --no-input -qq
PYTEST := PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m pytest -n $(JOBS) --dist worksteal

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: bench help install demo test test-slow lint typecheck check format pages constraints clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo
	@echo "  PYTHON=python3.12 chooses the interpreter of a new $(VENV); ARGS='-k fsm -x' goes to pytest;"
	@echo "  JOBS=0 runs the tests in one process (to debug one), else there is one for each core."

install: $(STAMP) ## Create the virtual environment (done by every other target when needed)

demo: $(STAMP) ## See a failing agent caught and steered
	@$(BIN)/reasonblocks demo

test: $(STAMP) ## Run the tests but for the slow ones
	@$(PYTEST) $(ARGS)

test-slow: $(STAMP) ## Run the slow tests
	@$(PYTEST) -m slow $(ARGS)

bench: $(STAMP) ## Compare a server's routes with the bare parts beneath them
	@$(BIN)/python benchmarks/server.py $(ARGS)

lint: $(STAMP) ## Check style and formatting
	@$(BIN)/ruff check -q --output-format=concise .
	@$(BIN)/ruff format -q --check . || { echo "Run 'make format' to format these files." >&2; exit 1; }
	@echo "lint: clean"

typecheck: $(STAMP) ## Check the types of src, strictly
	@$(BIN)/mypy --strict src

check: lint typecheck test ## Run all of the above: lint, typecheck, test

format: $(STAMP) ## Format the code and apply the safe fixes
	@$(BIN)/ruff check -q --fix-only .
	@$(BIN)/ruff format -q .

pages: $(STAMP) ## Write docs/settings.md and docs/api.md anew from the code
	@$(BIN)/python tools/settings_page.py
	@$(BIN)/python tools/api_page.py

constraints: ## Write constraints.txt anew from the latest versions that fit pyproject.toml
	@rm -rf $(VENV)-latest
	@$(PYTHON) -m venv $(VENV)-latest
	@$(VENV)-latest/bin/python -m pip -qq install --upgrade pip
	@$(VENV)-latest/bin/python -m pip -qq install '.[dev]' hatchling
	@{ sed -n '/^#/p' constraints.txt; \
	   $(VENV)-latest/bin/python -m pip list --format=freeze | grep -v -i -E '^(reasonblocks|setuptools)=='; \
	 } > constraints.txt.new
	@mv constraints.txt.new constraints.txt
	@rm -rf $(VENV)-latest
	@echo "constraints.txt is new; 'make check' tells whether it works."

clean: ## Remove the virtual environment, the caches and the builds
	@rm -rf $(VENV) $(VENV)-latest build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Made again only when what it was made from has changed.
$(STAMP): pyproject.toml constraints.txt src/reasonblocks/_version.py
	@command -v $(PYTHON) >/dev/null || { \
	   echo "No '$(PYTHON)' found. Install Python 3.11 or later, or name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	   echo "Python 3.11 or later is needed; '$(PYTHON)' is $$($(PYTHON) --version 2>&1)." >&2; \
	   echo "Name a newer one: make PYTHON=python3.12" >&2; exit 1; }
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { \
	   echo "Creating $(VENV)"; rm -rf $(VENV); \
	   $(PYTHON) -m venv $(VENV) || { \
	     rm -rf $(VENV); echo "'$(PYTHON) -m venv' failed (on Debian and Ubuntu: apt install python3-venv)." >&2; exit 1; }; }
	@echo "Installing the package and its development tools"
	@$(PIP) install -c constraints.txt pip
	@$(PIP) install -c constraints.txt --build-constraint constraints.txt -e '.[dev]'
	@touch $@
