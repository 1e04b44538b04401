# Everything a fresh machine needs is made here: `make demo`, `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DONE := $(VENV)/.installed
DONE_DEV := $(VENV)/.installed-dev
# A set-up that has not changed is not made again.
SETUP := pyproject.toml constraints.txt

.PHONY: demo test lint check clean need

demo: $(DONE)
	$(BIN)/kprof analyze kernels/logsumexp/cpu.py --ref kernels/logsumexp/ref.py \
	    --set R=8 --set B=512 --set D=512 --format text

# WORKERS=2: in two processes, a third faster; a file's tests stay together, for they share what it compiles. Not the
# default: on a machine that has nothing to spare, tests that wait for a process or take times may then fail.
test: $(DONE_DEV)
	$(BIN)/python -m pytest $(if $(WORKERS),-n $(WORKERS) --dist loadfile)

lint: $(DONE_DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

check: lint test

$(DONE): $(SETUP) | need
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(DONE_DEV): $(DONE)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

need:
	@PYTHON='$(PYTHON)' sh scripts/need.sh

clean:
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache
