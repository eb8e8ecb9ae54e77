"""Where claims break: the search on made-up answers, and one real problem outside of its range."""

import importlib
from types import SimpleNamespace

import numpy as np
import pytest

from icl.chapters import CHAPTERS
from press.atlas import edges
from press.atlas.edges import Edge, apart

CHAPTER = "11_when_depth_pays"


def test_an_edge_is_found_by_doubling_and_bisection():
    asked = []

    def answer(n):
        asked.append(n)
        return {"a": "" if n <= 137 else "it fails", "b": "", "c": "always wrong"}

    found = {edge.claim: edge for edge in edges.edges(CHAPTER, "n", True, answer)}
    assert found["a"] == Edge(CHAPTER, "a", "n", "up", 137, 138, "it fails")
    assert found["b"].broke is None and found["b"].held > 1e11 and "c" not in found
    assert len(asked) == len(set(asked)) < 60


def test_a_whole_number_shrinks_to_one_and_a_real_one_ends_near_its_edge():
    down = edges.edges(CHAPTER, "n", False, lambda n: {"a": "" if n > 2 else "too few"})
    assert (down[0].held, down[0].broke, down[0].why) == (3, 2, "too few")
    (least,) = edges.edges(CHAPTER, "condition", False, lambda condition: {"a": ""})
    assert (least.held, least.broke) == (1, None), "no problem has a smaller one"
    (none,) = edges.edges("06_newton_transformers", "k", False, lambda k: {"a": ""})
    assert (none.held, none.broke) == (0, None)
    (real,) = edges.edges(CHAPTER, "sigma2", True, lambda s: {"a": "" if s < 1000 else "fails"})
    assert real.held < 1000 <= real.broke <= edges.NEAR * real.held


def test_a_problem_that_takes_too_much_breaks_all_claims():
    (edge,) = edges.edges(CHAPTER, "n", True, lambda n: {"a": ""} if n < 100 else {})
    assert edge.held < 100 <= edge.broke <= edges.NEAR * edge.held, "there is no more to know than about where"
    assert edge.why == "the problem takes more than its time or memory"


def test_edges_are_read_as_written_and_not_sought_again(tmp_path, monkeypatch):
    answer = lambda chapter, changed, *_: {"a": "" if max(changed.values(), default=0) < 1e3 else "no"}
    monkeypatch.setattr(edges, "apart", answer)
    path = edges.find(CHAPTER, tmp_path / "edges.csv")
    found = edges.read(path)
    ways = {(edge.parameter, edge.direction) for edge in found}
    assert ways >= {("d", "up"), ("sigma2", "down"), ("experiments.MOST_LAYERS", edges.TWICE)}
    monkeypatch.setattr(edges, "apart", lambda *_: pytest.fail("sought again"))
    assert edges.read(edges.find(CHAPTER, path)) == found


def test_a_problem_beyond_the_ranges_is_decided_and_one_beyond_the_limits_is_not(monkeypatch):
    schema = CHAPTERS[CHAPTER].schema
    assert apart(CHAPTER, {"sigma2": 4e6})["pays.forward"] == ""
    assert CHAPTERS[CHAPTER].schema is schema, "the ranges of this process stay"
    assert "n · d" in apart(CHAPTER, {"n": 10**6})["pays.forward"]
    monkeypatch.setattr(edges, "SECONDS", 0)
    assert apart(CHAPTER, {"sigma2": 4e6}) == {}


def test_what_does_not_fit_into_the_memory_is_beyond_the_limits(monkeypatch):
    found = SimpleNamespace(claims=[], broken={"a": "MemoryError: Unable to allocate 9 GiB", "b": "ValueError: no"})
    monkeypatch.setattr(edges, "decide", lambda *_: found)
    assert apart(CHAPTER, {}) == {"b": "ValueError: no"}


def test_a_horizon_is_doubled_in_a_process_of_its_own():
    from icl.chapters.when_depth_pays import experiments

    found = {edge.claim: edge for edge in edges.doubled(CHAPTER, "experiments.MOST_LAYERS", apart(CHAPTER, {}))}
    assert found["pays.chebyshev"].held == 2 and found["pays.chebyshev"].broke is None
    assert experiments.MOST_LAYERS == 12, "this process keeps its own"


@pytest.mark.parametrize("chapter", [name for name, chapter in CHAPTERS.items() if chapter.horizons])
def test_every_horizon_is_a_constant_that_can_be_doubled(chapter, monkeypatch):
    for name in CHAPTERS[chapter].horizons:
        module = importlib.import_module(f"icl.chapters.{CHAPTERS[chapter].folder.name}.{name.split('.')[0]}")
        before = getattr(module, name.split(".")[1])
        monkeypatch.setattr(module, name.split(".")[1], before)  # as it was, after the test
        edges._double(chapter, name)
        after = getattr(module, name.split(".")[1])
        assert np.max(after) == 2 * np.max(before) and np.size(after) == np.size(before)
