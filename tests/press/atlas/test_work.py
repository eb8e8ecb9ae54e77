"""Points decided, broken off, resumed and gathered; the committed atlas watched. One chapter, at its smallest."""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from threadpoolctl import threadpool_info, threadpool_limits

from icl.chapters import catalogue, check_parameters
from icl.claims import Claim
from icl.files import sealed
from icl.validation import InputError
from press import cli
from press.atlas import edges, kept, point, points, table, work
from press.atlas.edges import Edge
from press.atlas.needed import needed
from press.atlas.table import BROKEN, Line
from press.layout import ROOT
from press.output import workplace

CHAPTER = "11_when_depth_pays"
SMALL = check_parameters(CHAPTER, d=2, n=3, profile="claims")
BEGIN = f'from icl.chapters import begin\nparameters, ledger, stream = begin("{CHAPTER}", profile="claims")'


def decided_by(monkeypatch, *cells):
    """The point that a notebook of these cells gives."""
    kept_ = needed([BEGIN, *cells], catalogue(CHAPTER), point.trained(CHAPTER))
    monkeypatch.setattr(point, "statements", lambda chapter: (kept_, frozenset()))
    return point.decide(CHAPTER, SMALL)


def test_a_point_decides_every_claim_but_trained_ones():
    found = point.decide(CHAPTER, SMALL)
    trained = point.trained(CHAPTER)
    assert found.broken == {} and {claim.id for claim in found.claims} == set(catalogue(CHAPTER)) - set(trained)
    left_out = [claim for claim in found.ledger.decided() if claim.id in trained]
    assert trained and all(claim.verdict == "not run at this profile" for claim in left_out)
    assert found.ledger.parameters == SMALL and found.seconds > 0 and found.memory > 10


def test_a_claim_whose_code_breaks_off_leaves_the_others_be(monkeypatch):
    found = decided_by(
        monkeypatch,
        "bad = 1 / 0\nfine = 0",
        'ledger.claims({"pays.forward": (0, fine, 1), "pays.risk": (0, bad, 1)})',
    )
    assert [claim.id for claim in found.claims] == ["pays.forward"]
    assert found.broken["pays.risk"] == "ZeroDivisionError: division by zero"


def test_a_statement_that_takes_too_long_is_stopped(monkeypatch):
    monkeypatch.setattr(point, "PATIENCE", 0.2)
    endless = "bad = 0\nwhile True:\n    bad += 1"
    found = decided_by(monkeypatch, endless, 'ledger.claims({"pays.forward": (0, bad, 1)})')
    assert found.broken["pays.forward"] == "it takes more than 0.2 s"


@pytest.fixture
def cheap(monkeypatch):
    """Points that cost nothing; the list of those that were decided, and a switch that kills the next one."""
    done, dies = [], []

    def one_point(chapter, parameters):
        if dies and parameters.seed == dies[0]:
            raise KeyboardInterrupt
        done.append((chapter, parameters.seed))
        row = [1.0, 1.0 + parameters.seed / 100, 0.0, parameters.seed / 10, "holds", ""]
        content = {"chapter": chapter, "parameters": parameters.model_dump(), "code": work.code(chapter)}
        cost = {"seconds": 1.0, "memory_mib": 100, "slowest": []}
        return content | {"claims": {"pays.risk": row}, "broken": {"pays.turn": "E: no"}}, cost

    monkeypatch.setattr(work, "code", lambda chapter: "c" * 64)
    monkeypatch.setattr(work, "one_point", one_point)
    monkeypatch.setenv("ICL_CORES", "1")  # another process would not know of it
    return done, dies


def test_a_point_is_decided_on_one_thread_and_others_are_left_alone(monkeypatch):
    threads = lambda: {pool["num_threads"] for pool in threadpool_info()}
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    with threadpool_limits(2):
        seen = []
        monkeypatch.setattr(work, "decide", lambda *_: seen.append((threads(), os.environ["OMP_NUM_THREADS"])) or 1 / 0)
        with pytest.raises(ZeroDivisionError):
            work.one_point(CHAPTER, SMALL)
        assert seen == [({1}, "1")] and threads() != {1} and os.environ["OMP_NUM_THREADS"] == "2"


@pytest.mark.parametrize(
    "measured, tolerance, margin", [(10.3, 0.5, 0.6), (10.0, 0.5, 0.0), (10.0, 0.0, 0.0), (10.3, 0.0, float("inf"))]
)
def test_a_margin_is_the_excess_in_units_of_what_is_allowed(monkeypatch, measured, tolerance, margin):
    numbers = dict(predicted=10.0, measured=measured, stderr=0.0, tolerance=tolerance, verdict="holds")
    claim = Claim(id="a.claim", source="s", statement="x", method="exact", relation="equal", **numbers)
    found = SimpleNamespace(claims=[claim], broken={}, slowest=[], seconds=1.0, memory=1.0)
    monkeypatch.setattr(work, "decide", lambda *_: found)
    assert float(work.one_point(CHAPTER, SMALL)[0]["claims"]["a.claim"][3]) == pytest.approx(margin)


def test_a_killed_group_goes_on_and_gives_the_same_bytes(tmp_path, cheap):
    done, dies = cheap
    for name in ("whole", "killed"):
        points.write(tmp_path / name / "points.csv", [CHAPTER], 5)
    assert work.run_group(tmp_path / "whole", CHAPTER, 0) == 5
    dies.append(3)
    with pytest.raises(KeyboardInterrupt):
        work.run_group(tmp_path / "killed", CHAPTER, 0)
    dies.clear()
    done.clear()
    assert work.run_group(tmp_path / "killed", CHAPTER, 0) == 2 and [seed for _, seed in done] == [3, 4]
    whole, killed = (work.gather(tmp_path / name, CHAPTER).read_bytes() for name in ("whole", "killed"))
    assert whole == killed and whole.count(b"\n") == 11


def test_more_points_compute_only_the_new_ones(tmp_path, cheap):
    points.write(tmp_path / "points.csv", [CHAPTER], 3)
    work.run_group(tmp_path, CHAPTER, 0)
    points.write(tmp_path / "points.csv", [CHAPTER], work.GROUP + 2)
    with pytest.raises(InputError, match="point 3 of"):
        work.gather(tmp_path, CHAPTER)
    asked = points.read(tmp_path / "points.csv")
    assert work.groups(asked) == [(CHAPTER, 0), (CHAPTER, 1)]
    assert work.run_group(tmp_path, CHAPTER, 0) == work.GROUP - 3 and work.run_group(tmp_path, CHAPTER, 1) == 2


def test_a_table_of_fewer_points_is_not_taken_for_done(tmp_path, cheap):
    """As of a folder that was copied: the workflow knows nothing of it, and would leave what stands there alone."""
    points.write(tmp_path / "points.csv", [CHAPTER], 3)
    work.run_group(tmp_path, CHAPTER, 0)
    told = work.gather(tmp_path, CHAPTER)
    asked = ["atlas", CHAPTER, "--points", "4", "--plan", "--out", str(tmp_path)]
    assert CliRunner().invoke(cli.commands, asked).exit_code == 0
    assert not told.exists() and len(points.read(tmp_path / "points.csv")[CHAPTER]) == 4
    assert len(list(tmp_path.glob("points/*/*[0-9].json"))) == 3, "what was decided stays"


def test_a_point_of_other_code_or_damaged_is_decided_again(tmp_path, cheap, monkeypatch):
    points.write(tmp_path / "points.csv", [CHAPTER], 2)
    work.run_group(tmp_path, CHAPTER, 0)
    path = tmp_path / "points" / CHAPTER / "00001.json"
    path.write_text(path.read_text().replace("1.01", "1.02"))
    assert work.run_group(tmp_path, CHAPTER, 0) == 1
    path.write_bytes(path.with_name("00000.json").read_bytes())  # intact, and of another problem
    assert work.run_group(tmp_path, CHAPTER, 0) == 1
    monkeypatch.setattr(work, "code", lambda chapter: "d" * 64)
    assert work.run_group(tmp_path, CHAPTER, 0) == 2


@pytest.mark.parametrize(
    "name, counts",
    [("icl/chapters/when_depth_pays/pictures.py", False), ("icl/figures.py", False), ("icl/prompts.py", True)],
)
def test_what_draws_may_change_and_what_computes_may_not(monkeypatch, name, counts):
    chapter = "11_when_depth_pays"
    before, found = work.code(chapter), work.digests(chapter)
    assert name in found
    work.code.cache_clear()
    monkeypatch.setattr(work, "digests", lambda _: found | {name: "other"})
    assert (work.code(chapter) != before) == counts
    work.code.cache_clear()


def test_a_tolerance_counts_and_a_sentence_does_not(monkeypatch):
    chapter = "11_when_depth_pays"
    before, (id, entry) = work.code(chapter), next(iter(work.catalogue(chapter).items()))
    for change, counts in (({"statement": "said otherwise"}, False), ({"atol": 0.5}, True)):
        work.code.cache_clear()
        monkeypatch.setattr(work, "catalogue", lambda _, c=change: catalogue(chapter) | {id: entry | c})
        assert (work.code(chapter) != before) == counts
    work.code.cache_clear()


def test_two_atlases_in_one_folder_are_made_one_after_the_other(tmp_path):
    ask = lambda: CliRunner().invoke(cli.commands, ["atlas", CHAPTER, "--points", "2", "--plan", "--out", tmp_path])
    with ThreadPoolExecutor() as pool:
        with workplace(tmp_path, "atlas"):
            second = pool.submit(ask)
            with pytest.raises(TimeoutError):
                second.result(timeout=1)
            assert not (tmp_path / "points.csv").exists()
        assert second.result(timeout=20).exit_code == 0 and (tmp_path / "points.csv").exists()


def test_an_atlas_that_is_ended_leaves_nothing_running(tmp_path):
    command = [sys.executable, "-m", "icl", "atlas", CHAPTER, "--points", "40", "--cores", "1", "--out", str(tmp_path)]
    running = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    ours = lambda: subprocess.run(["pgrep", "-f", f"atlas.*{tmp_path}"], capture_output=True, text=True).stdout.split()
    begun = lambda: any((tmp_path / "points" / CHAPTER).glob("*.json"))
    try:
        assert waited(begun) and len(ours()) > 2, "the command, Snakemake, and a job that has decided a point"
    finally:
        running.terminate()
        status = running.wait(60)
    assert status == 143 and waited(lambda: not ours())


def waited(for_what, seconds=300):
    """Whether it came true in time, on a machine that does much else."""
    end = time.monotonic() + seconds
    while not for_what() and time.monotonic() < end:
        time.sleep(0.1)
    return for_what()


def test_the_committed_atlas_is_watched(tmp_path, cheap):
    points.write(tmp_path / "points.csv", [CHAPTER], 4)
    work.run_group(tmp_path, CHAPTER, 0)
    folder, edge = tmp_path / "kept", Edge(CHAPTER, "pays.risk", "n", "up", 40.0, 50.0, "too many")
    edges.write(tmp_path / "edges" / f"{CHAPTER}.csv", [edge])
    assert kept.keep(tmp_path, folder) == [f"{CHAPTER}: 4 points, 4 lines fail or broke off."]
    atlas = kept.read(folder)
    assert atlas.edges == [edge]
    assert atlas.number(CHAPTER) == 4 and [line.verdict for line in atlas.lines[CHAPTER]][:2] == ["holds", BROKEN]
    found = kept.check(2, day="2026-01-01", folder=folder)
    assert found == kept.Checked(2, [])
    assert kept.check(9, day="2026-01-01", folder=folder).points == 4
    assert kept.command(CHAPTER, atlas.points[CHAPTER][1]) == "python -m icl run 11 --profile claims -p d=1 -p seed=1"
    table_path = folder / f"{CHAPTER}.csv"
    text = table_path.read_text()
    table_path.write_text(text.replace("1.02", "1.03"))
    with pytest.raises(InputError, match="altered"):
        kept.read(folder)


def test_every_day_other_points_are_looked_at(tmp_path, cheap, monkeypatch):
    points.write(tmp_path / "points.csv", [CHAPTER], 4)
    work.run_group(tmp_path, CHAPTER, 0)
    kept.keep(tmp_path, tmp_path / "kept")
    monkeypatch.setattr(kept, "each", lambda _, drawn: [[number for _, number, *_ in drawn]])
    looked = lambda day: tuple(kept.check(2, day=f"2026-01-{day:02}", folder=tmp_path / "kept").moved)
    found = [looked(day) for day in range(1, 32)]
    assert found == [looked(day) for day in range(1, 32)], "a day's points are the same all day"
    assert set(sum(found, ())) == {0, 1, 2, 3} and len(set(found)) > 3


def test_what_is_kept_anew_leaves_the_other_chapters_as_they_were(tmp_path, cheap, monkeypatch):
    other, folder = "07_trained_transformers", tmp_path / "kept"
    for name, chapters, count in (("all", [other, CHAPTER], 2), ("one", [CHAPTER], 3)):
        points.write(tmp_path / name / "points.csv", chapters, count)
        for chapter in chapters:
            work.run_group(tmp_path / name, chapter, 0)
    edge = Edge(other, "newton.match", "n", "up", 40.0, 50.0, "too many")
    edges.write(tmp_path / "all" / "edges" / f"{other}.csv", [edge])
    kept.keep(tmp_path / "all", folder)
    before = kept.read(folder)
    monkeypatch.setattr(work, "code", lambda chapter: "d" * 64)
    work.run_group(tmp_path / "one", CHAPTER, 0)
    assert kept.keep(tmp_path / "one", folder) == [f"{CHAPTER}: 3 points, 3 lines fail or broke off."]
    after = kept.read(folder)
    assert [after.number(chapter) for chapter in (other, CHAPTER)] == [2, 3] and after.edges == [edge]
    assert after.made["chapters"][other] == before.made["chapters"][other] and after.lines[other] == before.lines[other]
    assert [after.made["chapters"][name]["code"][0] for name in (other, CHAPTER)] == ["c", "d"]
    assert list(after.points) == [other, CHAPTER]


def test_committed_points_of_today_s_code_are_taken_over(tmp_path, cheap, monkeypatch):
    (done, _), folder = cheap, tmp_path / "kept"
    for name, count in (("first", 3), ("second", 5), ("whole", 5)):
        points.write(tmp_path / name / "points.csv", [CHAPTER], count)
    work.run_group(tmp_path / "first", CHAPTER, 0)
    kept.keep(tmp_path / "first", folder)
    done.clear()
    assert kept.go_on(tmp_path / "second", folder) == 3
    assert work.run_group(tmp_path / "second", CHAPTER, 0) == 2 and [seed for _, seed in done] == [3, 4]
    work.run_group(tmp_path / "whole", CHAPTER, 0)
    assert len({work.gather(tmp_path / name, CHAPTER).read_bytes() for name in ("second", "whole")}) == 1
    kept.keep(tmp_path / "second", folder)
    assert [kept.read(folder).number(CHAPTER), len((folder / "costs.csv").read_text().split())] == [5, 6]
    monkeypatch.setattr(work, "code", lambda chapter: "d" * 64)
    assert kept.go_on(tmp_path / "whole", folder) == 0


def test_a_number_that_moved_is_named(tmp_path, cheap, monkeypatch):
    points.write(tmp_path / "points.csv", [CHAPTER], 2)
    work.run_group(tmp_path, CHAPTER, 0)
    kept.keep(tmp_path, tmp_path / "kept")
    before = work.one_point

    def moved(chapter, parameters):
        content, cost = before(chapter, parameters)
        content["claims"]["pays.risk"][1] += 0.5
        return content, cost

    monkeypatch.setattr(work, "one_point", moved)
    told = kept.check(2, day="2026-01-01", folder=tmp_path / "kept").moved
    assert len(told) == 2 and "pays.risk was holds (1.0), is holds (1.5)" in told[0]


def test_only_the_rounding_of_nothing_may_move_within_what_is_allowed():
    def line(predicted, measured, allowed):
        return Line(0, "a", predicted, measured, 0.0, (measured - predicted) / allowed, "holds", "")

    def same(predicted, old, new, allowed):
        return kept._same(line(predicted, old, allowed), line(predicted, new, allowed))

    assert same(0.0, 2.25e-11, 4.78e-12, 1e-10)  # a product of matrices, summed in another order
    assert not same(0.0, 2e-11, 2e-10, 1e-10)
    assert same(0.0, 0.3, 0.35, 1.0) and not same(0.0, 0.3, 0.5, 1.0)  # a tenth of what is allowed, for a number
    assert not same(1.0, 1.0 + 3e-5, 1.0 + 5e-5, 1e-4)  # beside a prediction, though what is allowed is little


def test_a_table_that_is_none_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="its columns are others"):
        table.read(tmp_path / "t.csv")


def test_a_reason_for_no_claim_is_refused(tmp_path, cheap):
    points.write(tmp_path / "points.csv", [CHAPTER], 1)
    work.run_group(tmp_path, CHAPTER, 0)
    kept.keep(tmp_path, tmp_path / "kept")
    (tmp_path / "kept" / "reasons.toml").write_text('"pays.risk, twice as far" = "because"\n')
    assert kept.read(tmp_path / "kept").reasons
    (tmp_path / "kept" / "reasons.toml").write_text('"no.claim" = "because"\n')
    with pytest.raises(InputError, match="no.claim, which is no claim"):
        kept.read(tmp_path / "kept")


def test_a_seal_is_needed(tmp_path):
    (tmp_path / "made.json").write_text(json.dumps(json.loads(sealed({"chapters": {}})) | {"more": 1}))
    with pytest.raises(InputError, match="altered"):
        kept.read(tmp_path)
