# make book    the book, at _build/html/index.html        make test       the whole test suite
# make pdf     the book as _build/icl.pdf
# make same    two builds, byte for byte    make resume   kill -9 at 20 moments    make mutants  planted faults
# make drift   other threads, instructions    make newest  newest dependencies    make audit    known vulnerabilities
# make sync    .ipynb from .py      make baselines   accept the last run's numbers      make lock   renew the pins
# make new-chapter  six files and a line make a chapter    make processors  the tests on plainer processors
# make times    how long the tests and CI take, in a fresh clone
# make checkpoints   train what results/checkpoints/ does not hold intact, minutes to hours a model, on CORES cores at once
# make atlas    the claims at 200 problems a chapter (POINTS=20 for a look); atlas-keep makes it the committed one
# make help    these lines          .venv/bin/python -m icl --help   the commands for one chapter, and with other parameters
PROFILE ?= quick
CORES ?= 2
POINTS ?= 200
# As text, never expanded again and never pasted into a command: PROFILE='quick; rm -rf x' is an unknown profile.
override PROFILE := $(value PROFILE)
override CORES := $(value CORES)
override POINTS := $(value POINTS)
export PROFILE CORES POINTS
BIN := .venv/bin
SNAKEMAKE = press/locked $(BIN)/snakemake --cores "$$CORES" --rerun-incomplete --nolock --quiet all --config "profile=$$PROFILE" --
export PYTHONHASHSEED := 0

.PHONY: help book test unit setup browser sync check baselines lock bench same resume new-chapter processors times mutants drift newest audit peers pdf checkpoints atlas atlas-keep clean

book: setup
	@$(SNAKEMAKE) book
	@$(BIN)/python -m icl summary --profile "$$PROFILE"

pdf: book browser
	@$(BIN)/python -m icl pdf --profile "$$PROFILE"

test: setup browser
	@press/test

unit: setup
	@$(BIN)/python -m pytest -n "$$CORES" --dist worksteal -q -m "not book"

setup:
	@press/setup

browser:
	@press/browser

help:
	@sed -n 's/^# \(make\)/\1/p' Makefile

sync: setup
	@$(BIN)/python -m icl sync

check: setup
	@$(BIN)/python -m icl check --profile "$$PROFILE"
	@$(BIN)/python -m icl atlas-check

baselines: setup
	@$(SNAKEMAKE) chapters
	@$(BIN)/python -m icl baselines --profile "$$PROFILE"

atlas: setup
	@$(BIN)/python -m icl atlas --points "$$POINTS" --cores "$$CORES"

atlas-keep: setup
	@$(BIN)/python -m icl atlas-keep

checkpoints: setup
	@$(BIN)/python -m icl train --missing | OMP_NUM_THREADS=1 xargs -r -L 1 -P "$$CORES" --process-slot-var=TQDM_POSITION $(BIN)/python -m icl train

lock:
	@press/lock

bench: setup
	@$(BIN)/python trials/benchmarks/one_step_gd.py
	@$(BIN)/python trials/benchmarks/search.py
	@$(BIN)/python trials/benchmarks/newton.py
	@$(BIN)/python trials/benchmarks/newton_memory.py
	@$(BIN)/python trials/benchmarks/transformer_probes.py
	@$(BIN)/python trials/benchmarks/depth_ladder.py
	@$(BIN)/python trials/benchmarks/table1_on_cuda.py
	@$(if $(wildcard .venv-peers/.installed),.venv-peers/bin,$(BIN))/python trials/benchmarks/mlp_benefit.py
	@$(if $(wildcard .venv-peers/.installed),.venv-peers/bin,$(BIN))/python trials/benchmarks/your_own_model.py

peers: setup
	@trials/peers

same: setup
	@$(BIN)/python -m trials same --profile "$$PROFILE"

resume: setup
	@$(BIN)/python -m trials resume --profile "$$PROFILE"

new-chapter: setup browser
	@$(BIN)/python -m trials new-chapter

processors: setup
	@$(BIN)/python -m trials processors

times: setup
	@$(BIN)/python -m trials times

mutants: setup
	@$(BIN)/python -m trials.mutants --workers "$$CORES"

drift: book
	@$(BIN)/python -m trials drift --profile "$$PROFILE"

newest:
	@trials/newest.sh

audit:
	@press/audit

clean:
	rm -rf _build .snakemake
