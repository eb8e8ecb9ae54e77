# make book    the book, at _build/html/index.html        make test       the whole test suite
# make sync    .ipynb from .py      make baselines   accept the last run's numbers      make lock   renew the pins
PROFILE ?= quick
CORES ?= 2
BIN := .venv/bin
SNAKEMAKE = tools/locked $(BIN)/snakemake --cores $(CORES) --rerun-incomplete --nolock --quiet all --config profile=$(PROFILE) --
export PYTHONHASHSEED := 0

.PHONY: book test unit setup browser sync check baselines lock bench clean

book: setup
	@$(SNAKEMAKE) book
	@$(BIN)/python -m icl summary --profile $(PROFILE)

test: setup browser
	@tools/test

unit: setup
	@$(BIN)/python -m pytest -n 2 -q -m "not book"

setup:
	@tools/setup

browser:
	@tools/browser

sync: setup
	@$(BIN)/python -m icl sync

check: setup
	@$(BIN)/python -m icl check --profile $(PROFILE)

baselines: setup
	@$(SNAKEMAKE) chapters
	@$(BIN)/python -m icl baselines --profile $(PROFILE)

lock:
	@tools/lock

bench: setup
	@$(BIN)/python benchmarks/one_step_gd.py

clean:
	rm -rf _build .snakemake
