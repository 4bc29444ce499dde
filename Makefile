# make demo and make test are all that is needed on a machine with Python 3.11, pip and make.
#
# Everything is installed into .venv, always under constraints.txt; stamp files in .venv remember it.

PYTHON ?= python3
VENV := .venv
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt --editable
# Two test workers with one thread each: more would fight over the cores.
WORKERS ?= 2
CODE := src tests benchmarks scripts docs examples papers noxfile.py
ONE_THREAD := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: help demo test check docs bench slow dist pythons format clean clean-all

help:
	@echo "make demo    install, and search for a cell on the embedded digits, half a minute"
	@echo "make test    install what the tests need and run them"
	@echo "make check   formatting, lint, types and the direction of the imports"
	@echo "make docs    build the documentation into site/, to be opened in a browser"
	@echo "make slow    the tests that take minutes"
	@echo "make bench   measure; see benchmarks/"
	@echo "make dist    build sdists and wheels into dist/, and check them"
	@echo "make pythons the tests and the wheels on every Python that is there; see noxfile.py"
	@echo "make format  format the code and mend what the linter can"
	@echo "make clean   remove caches and build products; make clean-all removes $(VENV) too"

demo: $(VENV)/.core
	$(BIN)/dartboard demo

test: $(VENV)/.dev
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

check: $(VENV)/.dev
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)
	$(BIN)/mypy --strict src papers/src
	$(BIN)/python -m pytest -q tests/test_imports.py

docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "written to site/index.html"

bench: $(VENV)/.core
	@set -e; for script in $(wildcard benchmarks/[!_]*.py); do echo "== $$script"; $(BIN)/python $$script; done

slow: $(VENV)/.dev
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) -m slow

dist: $(VENV)/.dev
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m build --outdir dist papers
	$(BIN)/twine check --strict dist/*

pythons: $(VENV)/.dev
	$(BIN)/nox

format: $(VENV)/.dev
	$(BIN)/ruff check --fix-only --quiet $(CODE)
	$(BIN)/ruff format $(CODE)

clean:
	rm -rf build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*.egg-info papers/src/*.egg-info
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

clean-all: clean
	rm -rf $(VENV)

$(VENV)/pyvenv.cfg:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml papers/pyproject.toml constraints.txt | $(VENV)/pyvenv.cfg
	$(INSTALL) . --editable ./papers
	@touch $@

$(VENV)/.dev: pyproject.toml papers/pyproject.toml constraints.txt | $(VENV)/pyvenv.cfg
	$(INSTALL) '.[test,dev]' --editable ./papers
	@touch $@ $(VENV)/.core
