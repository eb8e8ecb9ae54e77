"""The tables of the pages «Why you can trust this» and «Checklists», read from the run and from `measurements/`."""

import html
import re
from pathlib import Path

import numpy as np

from icl.chapters import CHAPTERS
from icl.claims import FAILS, shown_number
from icl.files import read_json, write_atomically
from press.layout import BASELINES, MEASUREMENTS, run_folder
from press.regression import Comparison, compare

_LIMITS = {1e-9: "$10^{-9}$", 1e-5: "$10^{-5}$", 0.01: "1 %", 0.1: "10 %"}
_LOOSE = max(_LIMITS)


def complete(tree: Path, profile: str) -> None:
    """Write the generated tables into a staged tree."""
    measured = {"drift": _drift(), "trials": _trials(), "mutants": _mutants(), "newest": _newest(), "times": _times()}
    measured["processors"] = _processors()
    compared = [name for name in CHAPTERS if (BASELINES / profile / name).is_dir()]
    found = [compare(run_folder(profile), BASELINES / profile, name) for name in compared]
    none = f"There are no baselines for the profile `{profile}`."
    tables = {"margins": _margins(found) if found else none, "leeway": _leeway(found) if found else none, **measured}
    for name, text in tables.items():
        write_atomically(tree / "generated" / f"trust_{name}.md", text + "\n")


def _margins(found: list[Comparison]) -> str:
    rows, failing = [], sum(claim.verdict == FAILS for one in found for claim in one.claims)
    for one in found:
        (numbers, drift, at), (theory, claim) = one.drift(), one.theory()
        rows.append(
            f"| {_number(one.chapter)} | {numbers:,} | {_share(drift)} {_at(at)} "
            f"| {len(one.claims)} | {_share(theory)} {_at(claim)} |"
        )
    head = "| chapter | numbers | of the drift allowed | claims | of what theory allows |\n|---|---|---|---|---|"
    total = (
        f"In all, {sum(one.drift()[0] for one in found):,} numbers and {sum(len(one.claims) for one in found)} claims."
    )
    if failing:
        total += (
            f" The {failing} claims that are published as failing are off by more than theory allows: the last column"
        )
        total += " leaves them out."
    return "\n".join([head, *rows, "", total])


def _drift() -> str:
    if (content := _measured("drift")) is None:
        return _missing("drift")
    parts = []
    for processor, chapters in content["processors"].items():
        rows = ["| chapter | float64 | float32 training |", "|---|---|---|"]
        for chapter, found in chapters.items():
            largest = [_largest(found["machines"], kind) for kind in ("float64", "float32")]
            rows.append(f"| {_number(chapter)} | {largest[0]} | {largest[1]} |")
        parts += [f"On a processor {processor}:", "\n".join(rows)]
    return "\n\n".join(parts)


def _largest(machines: dict[str, dict], kind: str) -> str:
    moves = [(found[kind]["value"], found[kind]["at"], name) for name, found in machines.items() if kind in found]
    value, at, name = max(moves, key=lambda move: move[0], default=(None, "", ""))
    if value is None:
        return "–"
    return f"{shown_number(value, 2)} ({name}: {_broken(at)})" if value else "0"


def _leeway(found: list[Comparison]) -> str:
    shares = {f"{_number(one.chapter)}: {c.table}.{c.name}": c.leeway for one in found for c in one.columns}
    numbers = np.concatenate([share[share > 0] for share in shares.values()])
    rows, below = ["| may move by at most | numbers |", "|---|---|"], 0
    for limit, name in _LIMITS.items():
        count = int((numbers <= limit * (1 + 1e-9)).sum()) - below
        below += count
        rows.append(f"| {name} of its size | {count:,} |")
    loose = [column for column, share in shares.items() if (share > _LOOSE).any()]
    rows.append(f"| more | {len(numbers) - below:,} |")
    names = ", ".join(_broken(column, code=True) for column in loose) or "none"
    return "\n".join([*rows, "", f"More than 10 % only in {names}."])


def _trials() -> str:
    content, lines = _measured("trials") or {}, []
    if same := content.get("same"):
        lines.append(f"Of {same['files']:,} files, {same['different']} differed.")
    else:
        lines.append(_missing("same"))
    if resume := content.get("resume"):
        lines.append(
            f"Of {resume['kills']} kills, {resume['while_running']} struck a build while it was running; undisturbed it"
            f" takes {resume['seconds_undisturbed']:,} seconds. Afterwards {resume['different']} files differed."
        )
    else:
        lines.append(_missing("resume"))
    return "\n\n".join(lines)


def _mutants() -> str:
    if (content := _measured("mutants")) is None:
        return _missing("mutants")
    text = f"Of {content['faults']:,} faults planted in {content['files']} files, "
    text += f"{content['caught']:,} were caught, {100 * content['share']:.1f} %, "
    workers = f"{content['workers']} worker{'s' * (content['workers'] != 1)}"
    text += f"in {content['seconds'] / 60:.0f} minutes with {workers}."
    rows = [f"| `{s['id']}` | {_broken(s['file'], code=True)} | {s['reason']} |" for s in content["survivors"]]
    return "\n".join([text, "", "| not caught | where | why |\n|---|---|---|", *rows] if rows else [text])


def _newest() -> str:
    if (content := _measured("newest")) is None:
        return _missing("newest")
    changed, chapters = content["versions"], content["chapters"]
    moved, numbers = (sum(entry[kind] for entry in chapters.values()) for kind in ("moved", "numbers"))
    text = (
        f"With {len(changed)} packages in other versions than the lock's, of {content['packages']}, "
        f"{moved:,} of {numbers:,} numbers moved by more than they may."
    )
    head = "| chapter | numbers | moved | of the drift allowed |\n|---|---|---|---|"
    rows = [
        f"| {_number(name)} | {entry['numbers']:,} | {entry['moved']:,} "
        f"| {_share(entry['share_of_allowed'])} {_at(entry['at'])} |"
        for name, entry in chapters.items()
    ]
    pairs = [f"{name} {locked or '–'} → {here or '–'}" for name, (locked, here) in changed.items()]
    versions = ["", "```{admonition} The lock's versions → the newest", ":class: dropdown", ", ".join(pairs), "```"]
    return "\n".join([text, "", head, *rows, *(versions if pairs else [])])


def _processors() -> str:
    if (content := _measured("processors")) is None:
        return _missing("processors")
    failed = lambda tests: ", ".join(_broken(test, code=True) for test in tests) or "none"
    rows = [
        f"| {name} | {found['passed']:,} | {failed(found['failed'])} |" for name, found in content["settings"].items()
    ]
    head = "| the processor | unit tests passed | failed |\n|---|---|---|"
    return "\n".join([f"On a processor {content['processor']}:", "", head, *rows])


def _times() -> str:
    if (content := _measured("times")) is None:
        return _missing("times")
    head = "| machine | `make test` | `.ci/run`, with installation |\n|---|---|---|"
    rows = [
        f"| {run['cores']} cores, {run['cpu']} | {_minutes(run['tests'])} | {_minutes(run['ci'])} |"
        for run in content["runs"]
    ]
    return "\n".join([head, *rows])


def _minutes(seconds: float) -> str:
    return f"{seconds // 60:.0f} min {seconds % 60:02.0f} s"


def _measured(name: str) -> dict | None:
    path = MEASUREMENTS / f"{name}.json"
    return read_json(path) if path.exists() else None


def _missing(target: str) -> str:
    return f"Not measured yet: `make {target}` does it."


def _number(chapter: str) -> str:
    return str(int(chapter.split("_")[0]))


def _share(share: float) -> str:
    percent = 100 * share
    return f"{percent:,.0f} %" if percent >= 99.5 else f"{shown_number(percent, 2)} %"


def _at(where: str) -> str:
    return f"({_broken(where)})" if where else ""


def _broken(name: str, *, code: bool = False) -> str:
    """An id or a path in HTML, which a narrow column breaks between its parts and not inside a word."""
    after = "/" if "/" in name else "._"
    parts = re.sub(rf"(?<=[{after}])(?=[A-Za-z])", "<wbr>", html.escape(name))
    return f'<code class="docutils literal notranslate">{parts}</code>' if code else parts
