"""Constant rates until they help no more: when they end, how they fall, and the same bytes after a kill."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from icl.settling import Plan, Stretches, states, train_until_flat
from icl.validation import InputError

PLAN = Plan(0.05, None, stretch=20, most=6, warm_up=4)


def noisy_square(floor=0.0, seed=3):
    """A quadratic seen through noise: it falls to where its rate lets it, and no further."""

    def begin():
        rng = np.random.default_rng(seed)
        model = torch.nn.Linear(3, 1, bias=False)
        with torch.no_grad():
            model.weight.fill_(1.0)

        def loss(step):
            noise = torch.from_numpy(rng.standard_normal(3)).float()
            return ((model.weight - 0.3 * noise) ** 2).sum() + floor

        return model, loss, rng

    return begin


def falling_for_ever():
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    return model, lambda step: 100.0 - step + 1e-6 * model.weight.sum(), np.random.default_rng(0)


@pytest.mark.parametrize("slope, flat", [(0.0, True), (0.02, True), (-0.02, False)])
def test_a_stretch_that_does_not_fall_by_two_errors_is_flat(rng, slope, flat):
    curve = 5 + slope * np.arange(500) + rng.standard_normal(500)
    found = Stretches.last_two(curve, 100)
    assert found.first.mean == curve[300:400].mean() and found.second.mean == curve[400:].mean()
    assert found.second.stderr == pytest.approx(curve[400:].std(ddof=1) / 10) and found.second.count == 100
    assert found.flat is flat


def test_rates_stay_until_a_stretch_brings_nothing(tmp_path):
    found = train_until_flat(noisy_square(), PLAN, checkpoint=tmp_path / "c")
    assert found.stretches.flat and 40 <= found.constant < 120 and found.constant % 20 == 0
    assert len(found.curve) == 2 * found.constant
    assert found.stretches == Stretches.last_two(found.curve[: found.constant], 20)
    before = Stretches.last_two(found.curve[: found.constant - 20], 20) if found.constant > 40 else None
    assert before is None or not before.flat


def test_without_a_last_stretch_it_goes_on_for_as_long_as_that_helps(tmp_path):
    bounded = train_until_flat(noisy_square(), PLAN, checkpoint=tmp_path / "bounded")
    plan = replace(PLAN, most=None)
    found = train_until_flat(noisy_square(), plan, checkpoint=tmp_path / "c")
    assert plan.last == 20_000 and found.curve.tobytes() == bounded.curve.tobytes()


def test_before_the_least_number_of_stretches_nothing_is_compared(tmp_path):
    plan = replace(PLAN, least=5)
    found = train_until_flat(noisy_square(), plan, checkpoint=tmp_path / "c")
    sooner = train_until_flat(noisy_square(), PLAN, checkpoint=tmp_path / "sooner")
    assert sooner.constant < 100 <= found.constant
    assert np.array_equal(found.curve[: sooner.constant], sooner.curve[: sooner.constant])


def test_a_record_has_what_flat_weights_depend_on():
    values = dict(learning_rate=0.05, muon=None, stretch=20, decay=1.0, warm_up=4, clip=1.0)
    assert PLAN.recorded() == replace(PLAN, most=None).recorded() == values
    assert replace(PLAN, least=3).recorded() == values | {"least": 3}


def test_what_still_falls_at_the_last_stretch_is_said_to(tmp_path):
    found = train_until_flat(falling_for_ever, PLAN, checkpoint=tmp_path / "c")
    assert found.constant == 120 and not found.stretches.flat
    assert found.curve == pytest.approx(100 - np.arange(240), abs=1e-3), "the loss is told the step from the start"


def test_down_from_the_peak_to_nothing():
    falling = PLAN.falling(80)
    shares = [falling.share(step) for step in range(falling.steps)]
    assert falling.steps == 80 and shares[3] == 1 and shares[-1] == pytest.approx(1 / 76) and falling.muon is None
    assert np.diff(shares[4:]) == pytest.approx(-1 / 76)
    assert replace(PLAN, decay=0.5).falling(80).steps == 40
    assert [PLAN.constant().share(step) for step in (0, 3, 119)] == [0.25, 1, 1]


def test_a_longer_plan_goes_on_where_a_shorter_one_began_to_fall(tmp_path):
    whole = train_until_flat(falling_for_ever, PLAN, checkpoint=tmp_path / "whole")
    for most in (2, 4):
        short = train_until_flat(falling_for_ever, replace(PLAN, most=most), checkpoint=tmp_path / "c")
        assert short.constant == most * 20
    asked = []

    def begin():
        model, loss, rng = falling_for_ever()
        return model, lambda step: asked.append(step) or loss(step), rng

    found = train_until_flat(begin, PLAN, checkpoint=tmp_path / "c")
    assert found.curve.tobytes() == whole.curve.tobytes() and torch.equal(found.model.weight, whole.model.weight)
    assert asked == list(range(80, 240)), "the first four stretches were there"
    assert [file.name for file in states(tmp_path / "c")] == ["c.constant.safetensors"] + [
        f"c.falling{steps}.safetensors" for steps in (120, 40, 80)
    ]


def test_stopped_again_and_again_it_ends_in_the_same_bytes(tmp_path):
    whole = train_until_flat(noisy_square(), PLAN, checkpoint=tmp_path / "whole")
    starts = 0
    while (found := train_until_flat(noisy_square(), PLAN, checkpoint=tmp_path / "c", every=7, minutes=1e-9)) is None:
        starts += 1
        assert starts < 60
    assert starts > 5 and found.curve.tobytes() == whole.curve.tobytes() and found.stretches == whole.stretches
    assert torch.equal(found.model.weight, whole.model.weight)
    assert len(states(tmp_path / "c")) == 2
    for one, other in zip(states(tmp_path / "whole"), states(tmp_path / "c"), strict=True):
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("where", [1, 33, 70, 95])
def test_killed_it_goes_on(tmp_path, monkeypatch, where):
    whole, steps = train_until_flat(noisy_square(), PLAN, checkpoint=tmp_path / "whole"), [0]

    def begin():
        model, loss, rng = noisy_square()()

        def interrupted(step):
            steps[0] += 1
            if steps[0] == where:
                raise KeyboardInterrupt
            return loss(step)

        return model, interrupted, rng

    if where < len(whole.curve):
        with pytest.raises(KeyboardInterrupt):
            train_until_flat(begin, PLAN, checkpoint=tmp_path / "c", every=7)
    found = train_until_flat(begin, PLAN, checkpoint=tmp_path / "c", every=7)
    assert found.curve.tobytes() == whole.curve.tobytes() and torch.equal(found.model.weight, whole.model.weight)


def test_bad_plans():
    for bad, said in (
        (dict(stretch=1), "stretch"),
        (dict(most=1), "most"),
        (dict(least=1), "least"),
        (dict(least=4), "most"),
        (dict(most=80_001), "more than 400000 steps"),
        (dict(decay=0.0), "decay must be a positive number"),
        (dict(learning_rate=-1.0), "learning_rate must be a positive number"),
        (dict(muon=0.0), "muon must be a positive number"),
    ):
        with pytest.raises(InputError, match=said):
            Plan(**dict(learning_rate=0.1, muon=None, stretch=5, most=3) | bad)
