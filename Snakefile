"""The graph of the book: chapters in parallel, only what changed runs again, a killed run resumes.

`make book` is `snakemake --cores 2 book` in the project's environment. --config profile=standard for another profile.
"""

from icl.parameters import CHAPTERS, PROFILES
from icl.workflow.graph import chapter_sources

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
        pages=[str(path) for folder in ("book", "assets") for path in sorted(Path(folder).rglob("*")) if path.is_file()],
        settings=["_config.yml", "_toc.yml", "CITATION.cff", "pyproject.toml", "requirements.lock"],
        measured=[str(path) for folder in ("measurements", "baselines") for path in sorted(Path(folder).rglob("*.*"))],
        code=[
            *(f"icl/{name}.py" for name in ("claims", "citations", "figures", "pictures/all_claims")),
            *(str(path) for path in sorted(Path("icl/workflow").rglob("*.py"))),
        ],
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
    threads: 1
    # No core is idle at the end: the longest comes first, and last the one that keeps all cores busy by itself.
    priority: lambda wildcards: {"06_newton_transformers": 1, "04_mlp_benefit": -1}.get(wildcards.chapter, 0)
    shell:
        "{sys.executable:q} -m icl run {wildcards.chapter:q} -p profile={PROFILE:q} --out {RUN:q} > /dev/null"
