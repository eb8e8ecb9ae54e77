# make book    the book, at _build/html/index.html        make test       the whole test suite
# make pdf     the book as _build/icl.pdf
# make same    two builds, byte for byte    make resume   kill -9 at 20 moments    make mutants  planted faults
# make drift   other threads, instructions    make newest  newest dependencies    make audit    known vulnerabilities
# make sync    .ipynb from .py      make baselines   accept the last run's numbers      make lock   renew the pins
# make times    how long the tests and CI take, in a fresh clone
# make checkpoints   train what checkpoints/ does not hold intact, about 10 minutes a model
PROFILE ?= quick
CORES ?= 2
# As text, never expanded again and never pasted into a command: PROFILE='quick; rm -rf x' is an unknown profile.
override PROFILE := $(value PROFILE)
override CORES := $(value CORES)
export PROFILE CORES
BIN := .venv/bin
SNAKEMAKE = tools/locked $(BIN)/snakemake --cores "$$CORES" --rerun-incomplete --nolock --quiet all --config "profile=$$PROFILE" --
export PYTHONHASHSEED := 0

.PHONY: book test unit setup browser sync check baselines lock bench same resume times mutants drift newest audit peers pdf checkpoints clean

book: setup
	@$(SNAKEMAKE) book
	@$(BIN)/python -m icl summary --profile "$$PROFILE"

pdf: book browser
	@$(BIN)/python -m icl pdf

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
	@$(BIN)/python -m icl check --profile "$$PROFILE"

baselines: setup
	@$(SNAKEMAKE) chapters
	@$(BIN)/python -m icl baselines --profile "$$PROFILE"

checkpoints: setup
	@OMP_NUM_THREADS=1 $(BIN)/python -m icl train

lock:
	@tools/lock

bench: setup
	@$(BIN)/python benchmarks/one_step_gd.py
	@$(BIN)/python benchmarks/newton.py
	@$(BIN)/python benchmarks/newton_memory.py
	@$(BIN)/python benchmarks/transformer_probes.py
	@$(BIN)/python benchmarks/depth_ladder.py
	@$(if $(wildcard .venv-peers/.installed),.venv-peers/bin,$(BIN))/python benchmarks/mlp_benefit.py

peers: setup
	@tools/peers

same: setup
	@$(BIN)/python -m icl same --profile "$$PROFILE"

resume: setup
	@$(BIN)/python -m icl resume --profile "$$PROFILE"

times: setup
	@$(BIN)/python -m icl times

mutants: setup
	@$(BIN)/python tools/mutants.py --workers "$$CORES"

drift: book
	@$(BIN)/python -m icl drift --profile "$$PROFILE"

newest:
	@tools/newest

audit:
	@tools/audit

clean:
	rm -rf _build .snakemake
