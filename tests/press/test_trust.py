"""The page on trust shows what was measured, and every link of it leads to a file of the repository."""

import re

import numpy as np
import pytest

from icl.files import sealed, write_atomically
from press.layout import MEASUREMENTS, ROOT, repository
from press.pages import trust

LINKS = [
    (page, path)
    for page in trust.PAGES
    for path in re.findall(r"\]\(repo:([^)]+)\)", (ROOT / page).read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("page, path", LINKS)
def test_links_lead_to_the_repository(page, path):
    assert (ROOT / path).exists()


@pytest.mark.parametrize("page", trust.PAGES)
def test_commands_exist(page):
    targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M))
    named = set(re.findall(r"`make ([\w-]+)", (ROOT / page).read_text(encoding="utf-8")))
    assert named and named <= targets


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """A folder in place of `measurements/`."""
    monkeypatch.setattr(trust, "MEASUREMENTS", tmp_path)
    return tmp_path


def test_what_was_not_measured_says_so(measured):
    assert trust._drift() == "Not measured yet: `make drift` does it."
    assert trust._mutants() == "Not measured yet: `make mutants` does it."
    assert trust._times() == "Not measured yet: `make times` does it."
    assert trust._newest() == "Not measured yet: `make newest` does it."
    assert trust._trials().count("Not measured yet") == 2


def test_what_was_measured_is_shown(measured):
    moves = {"float64": {"value": 3.2e-12, "at": "claims.a"}, "float32": {"value": 0.0, "at": "f.x"}}
    machines = {"two threads": moves, "AVX2": {"float64": {"value": 1.2e-12, "at": "f.y"}}}
    chapters = {"01_x": {"machines": machines}, "02_y": {"machines": {"AVX2": {}}}}
    write_atomically(measured / "drift.json", sealed({"processors": {"Z80": chapters}}))
    shown = trust._drift()
    assert "Z80" in shown and "| 1 | 3.2e−12 (two threads: claims.a) | 0 |\n| 2 | – | – |" in shown
    survivor = {"id": "s", "file": "icl/x.py", "caught_by": "", "reason": "the same function"}
    caught = {"id": "c", "file": "icl/x.py", "caught_by": "test_x", "reason": ""}
    mutants = {"faults": 2, "caught": 1, "share": 0.5, "seconds": 1550.0, "workers": 2, "results": [survivor, caught]}
    write_atomically(measured / "mutants.json", sealed(mutants))
    assert "Of 2 faults planted in 1 files, 1 were caught, 50.0 %, in 26 minutes with 2 workers." in trust._mutants()
    assert "| `s` | `icl/x.py` | the same function |" in trust._mutants() and "`c`" not in trust._mutants()
    resume = {"kills": 20, "while_running": 18, "seconds_undisturbed": 200, "different": 0}
    write_atomically(measured / "trials.json", sealed({"same": {"files": 7, "different": 0}, "resume": resume}))
    assert "Of 7 files, 0 differed." in trust._trials() and "Of 20 kills, 18 struck" in trust._trials()


def test_leeway_is_counted_and_what_has_most_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(trust, "BASELINES", tmp_path)
    assert trust._leeway("quick") == "There are no baselines for the profile `quick`."
    (tmp_path / "quick" / "02_preconditioned_gd").mkdir(parents=True)
    found = {"f.x": np.array([1e-9 * (1 + 1e-15), 0.0, 1e-5, 0.05]), "f.y": np.array([0.5, 0.1, 0.02, 1e-3])}
    monkeypatch.setattr(trust, "leeway", lambda folder, baselines, chapter: found)
    shown = trust._leeway("quick")
    counts = re.findall(r"\| (\d+) \|", shown)
    assert counts == ["1", "1", "1", "3", "1"] and shown.endswith("More than 10 % only in `2: f.y`.")


def test_times_are_shown_in_minutes(measured):
    runs = [{"ci": 1145, "tests": 890, "cores": 2, "cpu": "X"}, {"ci": 1500, "tests": 1200, "cores": 4, "cpu": "Y"}]
    write_atomically(measured / "times.json", sealed({"runs": runs}))
    shown = trust._times()
    assert "| 2 cores, X | 14 min 50 s | 19 min 05 s |" in shown and "| 4 cores, Y | 20 min 00 s |" in shown


def test_newest_versions_are_shown_with_what_they_moved(measured):
    entry = {"numbers": 5, "moved": 0, "share_of_allowed": 0.25, "at": "f.x"}
    chapters = {"01_x": entry, "02_y": entry | {"moved": 3, "share_of_allowed": None}}
    content = {"packages": 9, "versions": {"numpy": ["2.3", "2.4"], "gone": ["1.0", None]}, "chapters": chapters}
    write_atomically(measured / "newest.json", sealed(content))
    shown = trust._newest()
    assert "With 2 packages in other versions than the lock's, of 9, 3 of 10 numbers moved" in shown
    assert "| 1 | 5 | 0 | 25 % (f.x) |" in shown and "| 2 | 5 | 3 | – (f.x) |" in shown
    assert "numpy 2.3 → 2.4, gone 1.0 → –" in shown
    write_atomically(measured / "newest.json", sealed(content | {"versions": {}}))
    assert "admonition" not in trust._newest()


def test_committed_measurements_found_no_difference():
    """Two builds that differed, or a kill that left a trace, may not stand on the page as if nothing were wrong."""
    content = trust._measured("trials") or {}
    assert all(trial["different"] == 0 for trial in content.values() if isinstance(trial, dict))
    assert MEASUREMENTS.name == "measurements"


def test_links_become_addresses(tmp_path, monkeypatch):
    for page in trust.PAGES:
        write_atomically(tmp_path / page, "[test](repo:tests/x.py)")
    monkeypatch.setattr(trust, "_margins", lambda profile: "")
    monkeypatch.setattr(trust, "_leeway", lambda profile: "")
    trust.complete(tmp_path, "quick")
    assert (tmp_path / trust.PAGES[0]).read_text() == f"[test]({repository()}/blob/main/tests/x.py)"
    assert (tmp_path / "generated" / "trust_drift.md").exists()


def test_shares_are_read_at_a_glance():
    shown = [trust._share(share) for share in (0, 0.0412, 2.6e-7, 0.999, 26.04)]
    assert shown == ["0 %", "4.1 %", "2.6e−05 %", "100 %", "2,604 %"]
