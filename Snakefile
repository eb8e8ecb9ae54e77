"""The graph of the book: chapters in parallel, only what changed runs again, a killed run resumes.

`make book` is `snakemake --cores 2 book` in the project's environment. --config profile=standard for another profile.
The jobs end with their Snakemake, killed or not: `exec` makes it their parent, and `--with-parent` watches it.
"""

import os
import sys
from pathlib import Path

from icl.chapters import CHAPTERS
from icl.parameters import check_profile
from icl.validation import InputError
from press.sources import chapter_sources, fingerprint, page_sources, priority

try:
    PROFILE = check_profile(config.get("profile", "quick"))
except InputError as error:
    sys.exit(f"icl: {error}")  # `--quiet all` would swallow an exception
RUN = f"_build/run/{PROFILE}"
# Starting a chapter's own processes takes it seconds, and keeps no core busy that another chapter does not.
if sum(not Path(RUN, f"{chapter}.json").exists() for chapter in CHAPTERS) > 1:
    os.environ.setdefault("ICL_CORES", "1")


# Asking for the ledgers as well as for the pages: a chapter whose last run failed left none, so it runs again.
rule book:
    default_target: True
    input:
        f"_build/html/.built-{PROFILE}",
        expand(f"{RUN}/{{chapter}}.json", chapter=CHAPTERS),


rule html:
    input:
        ledgers=expand(f"{RUN}/{{chapter}}.json", chapter=CHAPTERS),
        notebooks=expand(f"{RUN}/{{chapter}}.ipynb", chapter=CHAPTERS),
        prose=expand("notebooks/{chapter}.{suffix}", chapter=CHAPTERS, suffix=("py", "ipynb")),
        sources=page_sources(),
    output:
        touch(f"_build/html/.built-{PROFILE}"),
    shell:
        "exec {sys.executable:q} -m icl --with-parent book --profile {PROFILE:q}"


rule chapters:
    input:
        expand(f"{RUN}/{{chapter}}.json", chapter=CHAPTERS),


rule chapter:
    input:
        lambda wildcards: chapter_sources(wildcards.chapter),
    output:
        ledger=f"{RUN}/{{chapter}}.json",
        notebook=f"{RUN}/{{chapter}}.ipynb",
        provenance=f"{RUN}/{{chapter}}.provenance.json",
        figures=directory(f"{RUN}/{{chapter}}"),
    wildcard_constraints:
        chapter="|".join(CHAPTERS),
    params:  # by content as well as by time: an older file put back is another one, and `icl check` says so
        code=lambda wildcards: fingerprint(wildcards.chapter),
    threads: 1
    priority: lambda wildcards: priority(wildcards.chapter, PROFILE)
    shell:
        "exec {sys.executable:q} -m icl --with-parent run {wildcards.chapter:q} -p profile={PROFILE:q} --out {RUN:q} > /dev/null"


# The atlas: points in groups, a job each; DIR/points.csv, written by `python -m icl atlas`, says which. --config atlas=DIR
ATLAS = config.get("atlas", "_build/atlas")
if asked := Path(ATLAS, "points.csv").exists():
    from press.atlas import points, work  # and with them what decides points, for which a build need not wait
ASKED = points.read(Path(ATLAS) / "points.csv") if asked else {}


rule atlas:
    input:
        [f"{ATLAS}/{chapter}.csv" for chapter in ASKED],


rule atlas_table:
    input:
        lambda wildcards: [f"{ATLAS}/groups/{name}-{group}" for name, group in work.groups(ASKED) if name == wildcards.chapter],
    output:
        f"{ATLAS}/{{chapter}}.csv",
    wildcard_constraints:
        chapter="|".join(CHAPTERS),
    localrule: True
    shell:
        "exec {sys.executable:q} -m icl --with-parent atlas-table {wildcards.chapter:q} --out {ATLAS:q}"


rule atlas_group:
    output:
        touch(f"{ATLAS}/groups/{{chapter}}-{{group}}"),
    wildcard_constraints:
        chapter="|".join(CHAPTERS),
        group="[0-9]+",
    params:  # a point more, or other code, runs the job again, which computes what is not there
        asked=lambda wildcards: work.asked_of(ASKED, wildcards.chapter, int(wildcards.group)),
        code=lambda wildcards: work.code(wildcards.chapter),
    threads: 1
    priority: lambda wildcards: -int(wildcards.group)
    resources:
        mem_mb=2500,
        runtime=30,
    shell:
        "exec env OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1"
        " {sys.executable:q} -m icl --with-parent atlas-group {wildcards.chapter:q} {wildcards.group} --out {ATLAS:q}"
