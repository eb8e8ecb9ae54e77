#!/bin/sh
# The book with the newest versions of all dependencies: what pyproject.toml names, without its upper bounds and pins.
# Runs in a copy under _build/newest; reports versions and moved numbers, keeps them in results/measurements/newest.json, and fails
# when a number moved.
set -eu
cd "$(dirname "$0")/.."
copy=_build/newest/checkout
rm -rf _build/newest
mkdir -p "$copy"
git ls-files -z | xargs -0 cp --parents -t "$copy"
cd "$copy"
python=$(command -v python3.11 || command -v python3)
"$python" -m venv .venv
# Jupyter Book 1 is a bound of design: version 2 does not read _config.yml. Everything else may be as new as it likes.
.venv/bin/python - pyproject.toml >newest.txt <<'PYTHON'
import sys
import tomllib

project = tomllib.load(open(sys.argv[1], "rb"))["project"]
for line in [*project["dependencies"], *project["optional-dependencies"]["book"], *project["optional-dependencies"]["test"]]:
    name = line.split("[")[0].rstrip(";")
    for mark in "<>=!~ ":
        name = name.split(mark)[0]
    extra = line[len(name) : line.index("]") + 1] if "[" in line else ""
    print(line if name == "jupyter-book" else name + extra)
PYTHON
export PIP_DISABLE_PIP_VERSION_CHECK=1
# The extra index serves CPU builds of PyTorch; it is asked for nothing else, and only once where it cannot be reached.
.venv/bin/pip install -q --retries 1 --extra-index-url "${TORCH_INDEX:-https://download.pytorch.org/whl/cpu}" torch
.venv/bin/pip install -q -r newest.txt
.venv/bin/pip install -q --no-deps --no-build-isolation -e .
cat requirements.lock press/setup | sha256sum | cut -d' ' -f1 >.venv/.installed # `make` takes this environment as it is
status=0
make book >../report.txt 2>&1 || status=1
if .venv/bin/python -m trials newest >>../report.txt 2>&1; then
    cp results/measurements/newest.json ../../../results/measurements/
else
    status=1
fi
make check >>../report.txt 2>&1 || status=1
cat ../report.txt
exit $status
