"""The graph of the book: chapters in parallel, only what changed runs again, a killed run resumes.

`make book` is `snakemake --cores 2 book` in the project's environment. --config profile=standard for another profile.
The jobs end with their Snakemake, killed or not: `exec` makes it their parent, and `--with-parent` watches it.
"""

import sys

from icl.chapters import CHAPTERS
from icl.parameters import check_profile
from icl.validation import InputError
from press.sources import chapter_sources, fingerprint, page_sources, priority

try:
    PROFILE = check_profile(config.get("profile", "quick"))
except InputError as error:
    sys.exit(f"icl: {error}")  # `--quiet all` would swallow an exception
RUN = f"_build/run/{PROFILE}"


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
