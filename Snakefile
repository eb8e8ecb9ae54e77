"""The graph of the book: chapters in parallel, only what changed runs again, a killed run resumes.

`make book` is `snakemake --cores 2 book` in the project's environment. --config profile=standard for another profile.
"""

from icl.chapters import CHAPTERS
from icl.parameters import PROFILES
from press.sources import chapter_sources, fingerprint, page_sources, priority

PROFILE = config.get("profile", "quick")
if PROFILE not in PROFILES:
    raise WorkflowError(f"there is no profile {PROFILE!r}; profiles: {', '.join(PROFILES)}.")
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
        stamp=f"_build/html/.built-{PROFILE}",
    shell:
        "{sys.executable:q} -m icl book --profile {PROFILE:q} && touch {output.stamp:q}"


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
        "{sys.executable:q} -m icl run {wildcards.chapter:q} -p profile={PROFILE:q} --out {RUN:q} > /dev/null"
