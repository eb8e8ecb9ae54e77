"""The page on trust shows what was measured."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from icl.files import sealed, write_atomically
from press.layout import MEASUREMENTS
from press.pages import trust


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
    assert trust._processors() == "Not measured yet: `make processors` does it."
    assert trust._trials().count("Not measured yet") == 2


def test_what_was_measured_is_shown(measured):
    moves = {"float64": {"value": 3.2e-12, "at": "claims.a"}, "float32": {"value": 0.0, "at": "f.x"}}
    machines = {"two threads": moves, "AVX2": {"float64": {"value": 1.2e-12, "at": "f.y"}}}
    chapters = {"01_x": {"machines": machines}, "02_y": {"machines": {"AVX2": {}}}}
    write_atomically(measured / "drift.json", sealed({"processors": {"Z80": chapters}}))
    shown = trust._drift()
    assert "Z80" in shown and "| 1 | 3.2e−12 (two threads: claims.<wbr>a) | 0 |\n| 2 | – | – |" in shown
    survivor = {"id": "s", "file": "icl/x.py", "reason": "the same function"}
    mutants = {"faults": 1002, "caught": 501, "share": 0.5, "seconds": 1550.0, "workers": 2, "files": 3}
    write_atomically(measured / "mutants.json", sealed(mutants | {"survivors": [survivor]}))
    assert (
        "Of 1,002 faults planted in 3 files, 501 were caught, 50.0 %, in 26 minutes with 2 workers." in trust._mutants()
    )
    write_atomically(measured / "mutants.json", sealed(mutants | {"workers": 1, "survivors": [survivor]}))
    assert "minutes with 1 worker." in trust._mutants()
    assert '| `s` | <code class="docutils literal notranslate">icl/<wbr>x.py</code> | the same' in trust._mutants()
    resume = {"kills": 20, "while_running": 18, "seconds_undisturbed": 200, "different": 0}
    write_atomically(measured / "trials.json", sealed({"same": {"files": 12345, "different": 0}, "resume": resume}))
    assert "Of 12,345 files, 0 differed." in trust._trials() and "Of 20 kills, 18 struck" in trust._trials()


def test_tests_that_failed_on_another_processor_are_named(measured):
    settings = {"as it is": {"passed": 2000, "failed": []}, "older": {"passed": 1999, "failed": ["tests/test_x.py::t"]}}
    write_atomically(measured / "processors.json", sealed({"processor": "Z80", "settings": settings}))
    shown = trust._processors()
    assert shown.startswith("On a processor Z80:") and "| as it is | 2,000 | none |" in shown
    assert "| older | 1,999 | <code" in shown and "test_x.py::t" in shown.replace("<wbr>", "")


def comparison(claims=(), **shares):
    """A made-up comparison of chapter 2, the leeway of whose columns is given."""
    columns = [SimpleNamespace(table="f", name=name, leeway=np.array(share)) for name, share in shares.items()]
    drift, theory = lambda: (12345, 0.5, "f.x"), lambda: (0.25, "a.claim")
    verdicts = [SimpleNamespace(verdict=verdict) for verdict in claims]
    return SimpleNamespace(chapter="02_y", columns=columns, claims=verdicts, drift=drift, theory=theory)


def test_leeway_is_counted_and_what_has_most_is_named():
    shown = trust._leeway([comparison(x=[1e-9 * (1 + 1e-15), 0.0, 1e-5, 0.05], y=[0.5, 0.1, 0.02, 1e-3])])
    assert re.findall(r"\| (\d+) \|", shown) == ["1", "1", "1", "3", "1"]
    assert shown.endswith(f"More than 10 % only in {trust._broken('2: f.y', code=True)}.")


def test_claims_that_fail_are_counted_and_left_out_of_the_share():
    shown = trust._margins([comparison(claims=["holds", "fails"])])
    assert "| 2 | 12,345 | 50 % (f.<wbr>x) | 2 | 25 % (a.<wbr>claim) |" in shown
    assert "In all, 12,345 numbers and 2 claims. The 1 claims that are published as failing" in shown
    assert "failing" not in trust._margins([comparison(claims=["holds"])])


def test_names_break_between_their_parts_only():
    assert trust._broken("c.d_e_0.003") == "c.<wbr>d_<wbr>e_0.003"
    assert trust._broken("icl/a_b.py") == "icl/<wbr>a_b.py"


def test_times_are_shown_in_minutes(measured):
    runs = [{"ci": 1145, "tests": 890, "cores": 2, "cpu": "X"}, {"ci": 1500, "tests": 1200, "cores": 4, "cpu": "Y"}]
    write_atomically(measured / "times.json", sealed({"runs": runs}))
    shown = trust._times()
    assert "| 2 cores, X | 14 min 50 s | 19 min 05 s |" in shown and "| 4 cores, Y | 20 min 00 s |" in shown


def test_newest_versions_are_shown_with_what_they_moved(measured):
    entry = {"numbers": 5, "moved": 0, "share_of_allowed": 0.25, "at": "f.x"}
    chapters = {"01_x": entry, "02_y": entry | {"moved": 3, "share_of_allowed": 1.5}}
    content = {"packages": 9, "versions": {"numpy": ["2.3", "2.4"], "gone": ["1.0", None]}, "chapters": chapters}
    write_atomically(measured / "newest.json", sealed(content))
    shown = trust._newest()
    assert "With 2 packages in other versions than the lock's, of 9, 3 of 10 numbers moved" in shown
    assert "| 1 | 5 | 0 | 25 % (f.<wbr>x) |" in shown and "| 2 | 5 | 3 | 150 % (f.<wbr>x) |" in shown
    assert "numpy 2.3 → 2.4, gone 1.0 → –" in shown
    write_atomically(measured / "newest.json", sealed(content | {"versions": {}}))
    assert "admonition" not in trust._newest()


def test_committed_measurements_found_no_difference():
    """Two builds that differed, or a kill that left a trace, may not stand on the page as if nothing were wrong."""
    content = trust._measured("trials") or {}
    trials = [trial for trial in content.values() if isinstance(trial, dict)]
    assert all(trial["wrong" if "wrong" in trial else "different"] == 0 for trial in trials)
    assert MEASUREMENTS.name == "measurements"


def test_shares_are_read_at_a_glance():
    shown = [trust._share(share) for share in (0, 0.0412, 2.6e-7, 0.999, 26.04)]
    assert shown == ["0 %", "4.1 %", "2.6e−05 %", "100 %", "2,604 %"]
