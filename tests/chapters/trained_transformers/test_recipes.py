"""Chapter 7's trained transformers at tiny sizes, and the shipped checkpoints: intact, replayable, as good as said."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from icl import checkpoints
from icl.chapters import check_parameters
from icl.chapters.trained_transformers import (
    probing,
    published_pictures,
    published_size,
    recipes,
    rivals,
    sequence_laws,
    similarity_pictures,
    study,
    weights,
)
from icl.chapters.trained_transformers.published_numbers import fu2024_similarity
from icl.chapters.trained_transformers.sequence_laws import Curriculum
from icl.models.decoder import DecoderConfig
from icl.models.encoder import EncoderConfig
from icl.models.pair_decoder import PairDecoderConfig
from icl.randomness import Streams
from icl.settling import Plan
from icl.training import Schedule
from icl.validation import InputError
from press import trainings

TINY = recipes.Recipe("tiny", EncoderConfig(2, 2, 1, 8), n=4, queries=3, batch=4, schedule=Schedule(50, 1e-2, 1.0))
TINY_DECODER = recipes.Recipe(
    "tiny", DecoderConfig(3, 5, 2, 1, 8), n=4, batch=4, schedule=Schedule(50, 1e-3, decay=False),
    curriculum=Curriculum((1, 3, 1), (3, 5, 1), 20),
)  # fmt: skip


TINY_PAIRS = recipes.Recipe(
    "tiny", PairDecoderConfig(3, 4, 2, 1, 8), n=4, queries=3, batch=4, full_context=20,
    schedule=Schedule(50, 1e-3, 1.0, warm_up=5, decay_from=25, muon=1e-2),
)  # fmt: skip
TINY_PLAN = replace(TINY, schedule=Plan(1e-2, None, stretch=25, most=3, decay=0.5, warm_up=5))


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    monkeypatch.setattr(weights, "SLICE", 20)
    monkeypatch.setattr(weights, "TEST_PROMPTS", 512)


@pytest.mark.parametrize("law", sequence_laws.LAWS)
def test_laws_have_their_moments(rng, law):
    X, y = sequence_laws.LAWS[law](rng, 20_000, 3, 5)
    assert X.shape == (20_000, 3, 5) and y.shape == (20_000, 3)
    np.testing.assert_allclose(np.einsum("btd,bte->de", X, X) / 60_000, np.eye(5), atol=0.06)
    expected = {"linear": 5, "noisy": 5 + sequence_laws.NOISE**2, "ill_conditioned": 5, "relu_network": 2.5}[law]
    np.testing.assert_allclose((y**2).mean(), expected, rtol=0.06)


def test_ill_conditioned_has_one_rotation_a_sequence(rng):
    X, _ = sequence_laws.ill_conditioned(rng, 3, 50_000, 4)
    values, axes = np.linalg.eigh(np.einsum("btd,bte->bde", X, X) / 50_000)
    np.testing.assert_allclose(values[:, 2:].mean() / values[:, :2].mean(), 100, rtol=0.03)
    overlap = np.linalg.norm(axes[0, :, 2:].T @ axes[1, :, 2:])
    assert overlap < 0.99 * np.sqrt(2)


def test_records_name_what_is_new_only_where_it_is_used():
    """So that a checkpoint from before still is its recipe's."""
    old, new = TINY.configuration(), TINY_PAIRS.configuration()
    assert old["schedule"].keys() == {"steps", "learning_rate", "clip"} and "full_context" not in old
    assert new["schedule"] == dict(steps=50, learning_rate=1e-3, clip=1.0, warm_up=5, decay_from=25, muon=1e-2)
    assert new["full_context"] == 20 and new["kind"] == "pairdecoder" and "curriculum" not in new
    assert "curriculum" in TINY_DECODER.configuration()


def test_pairs_are_asked_after_all_examples_first_and_everywhere_later(rng):
    model = TINY_PAIRS.build(rng)
    assert TINY_PAIRS.squared_errors(model, rng, 2, 19).shape == (2, 3)
    assert TINY_PAIRS.squared_errors(model, rng, 2, 20).shape == (2, 5)
    assert TINY_PAIRS.squared_errors(model, rng, 2).shape == (2, 5)


def able(monkeypatch, answer):
    """A processor that has instructions for bfloat16, or has none."""
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"amx_bf16": answer})


def test_a_processor_without_bfloat16_trains_in_float32_and_says_so(monkeypatch, tmp_path):
    recipe = replace(TINY_PAIRS, products="bfloat16")
    for answer, products in ((False, "float32"), (True, "bfloat16")):
        able(monkeypatch, answer)
        weights.train_recipe(recipe, 0, tmp_path)
        assert weights.load_model(tmp_path, recipe, 0)[1]["made_with"]["products"] == products
        assert recipe.products_on("cuda") == "bfloat16" and TINY_PAIRS.products_on("cpu") == "float32"
    able(monkeypatch, False)
    (_, first, _), (_, second, _) = (weights.begin(each, 0) for each in (recipe, TINY_PAIRS))
    assert first(0).item() == second(0).item()


def test_products_in_bfloat16_are_rounded_and_nothing_else(monkeypatch):
    """The loss and every gradient are float32's up to bfloat16's eight bits, and not the same numbers."""
    able(monkeypatch, True)
    assert recipes.RECIPES["pairs"].configuration()["products"] == "bfloat16"
    assert "products" not in TINY_PAIRS.configuration(), "older checkpoints stay readable"
    found = {}
    for products in ("", "bfloat16"):
        model, loss, _ = weights.begin(replace(TINY_PAIRS, products=products), 0)
        value = loss(0)
        value.backward()
        gradients = [parameter.grad for parameter in model.parameters()]
        assert all(part.dtype == torch.float32 for part in [value, *gradients, *model.parameters()])
        found[products] = value.item(), torch.cat([part.ravel() for part in gradients])
    (exact, slope), (rounded, near) = found.values()
    assert 0 < abs(rounded / exact - 1) < 0.02
    assert 0 < (near - slope).norm() / slope.norm() < 0.05


@pytest.mark.parametrize(
    "recipe", [TINY, TINY_DECODER, TINY_PAIRS, TINY_PLAN], ids=["tiny", "decoder", "pairs", "plan"]
)
def test_a_training_in_slices_is_the_same_training(recipe, tmp_path):
    whole = weights.train_recipe(recipe, 3, tmp_path / "whole")
    path, stops, states = None, 0, tmp_path / "states"
    while path is None:
        path = weights.train_recipe(recipe, 3, tmp_path / "sliced", state=states / "tiny", minutes=1e-9)
        stops += path is None
    assert stops >= 2 and path.read_bytes() == whole.read_bytes()
    assert not list(states.iterdir()), "what a finished training no longer needs is gone"


def test_a_plan_goes_on_while_it_helps_and_says_for_how_long(tmp_path):
    weights.train_recipe(TINY_PLAN, 0, tmp_path)
    _, record = weights.load_model(tmp_path, TINY_PLAN, 0)
    constant = record["steps"]["constant"]
    assert constant in (50, 75) and record["steps"]["all"] == constant + round(constant / 2)
    assert record["flat"] or constant == 75
    assert record["recipe"]["schedule"]["stretch"] == 25
    short = replace(TINY_PLAN, schedule=replace(TINY_PLAN.schedule, stretch=100, most=2))
    weights.train_recipe(short, 1, tmp_path)
    assert not weights.load_model(tmp_path, short, 1)[1]["flat"], "the loss falls from the first stretch to the second"
    longer = replace(short, schedule=replace(short.schedule, most=4))
    with pytest.raises(InputError, match="given up after 200 of 400 steps .* go on with .*train tiny --seed 1"):
        weights.load_model(tmp_path, longer, 1)
    with pytest.raises(InputError, match="differs in schedule"):
        weights.load_model(tmp_path, replace(TINY_PLAN, schedule=replace(TINY_PLAN.schedule, decay=1.0)), 0)
    assert weights.standard(TINY_PLAN).schedule.stretch == 6


def test_many_saves_fit_into_the_minutes_given(tmp_path):
    whole = weights.train_recipe(TINY, 3, tmp_path / "whole")
    path = weights.train_recipe(TINY, 3, tmp_path / "timed", state=tmp_path / "state", minutes=60)
    assert path.read_bytes() == whole.read_bytes()


def test_training_lowers_the_error_and_half_precision_keeps_it(tmp_path):
    recipe = replace(TINY, schedule=Schedule(300, 1e-2, 1.0))
    weights.train_recipe(recipe, 0, tmp_path)
    model, record = weights.load_model(tmp_path, recipe, 0)
    assert record["test_error"] < 0.7 * np.mean(record["first_losses"])
    assert weights.tested(recipe, model, weights.generators(0)[1]) == pytest.approx(record["test_error"], rel=0.02)
    assert model.read_in.weight.dtype == torch.float32 and not model.training


def damage(path, how):
    content = bytearray(path.read_bytes())
    if how == "truncated":
        content = content[:-7]
    elif how == "one bit":
        content[-3] ^= 16
    else:
        content = bytearray(b"not a safetensors file, but long enough to be read as one")
    path.write_bytes(content)


@pytest.mark.parametrize("how, reason", [
    ("truncated", "not an intact checkpoint"), ("one bit", "was altered"), ("text", "not an intact checkpoint"),
])  # fmt: skip
def test_damaged_checkpoints_are_refused(tmp_path, how, reason):
    path = weights.train_recipe(TINY, 0, tmp_path)
    damage(path, how)
    with pytest.raises(InputError, match=reason) as caught:
        weights.load_model(tmp_path, TINY, 0)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_checkpoints_of_something_else_are_refused(tmp_path):
    path = weights.train_recipe(TINY, 0, tmp_path)
    for other in (replace(TINY, n=5), replace(TINY, model=EncoderConfig(2, 2, 2, 8)), replace(TINY, batch=5)):
        with pytest.raises(InputError, match="another configuration") as caught:
            weights.load_model(tmp_path, other, 0)
        assert str(path) in str(caught.value)
    path.rename(tmp_path / weights.checkpoint_name("tiny", 1))
    with pytest.raises(InputError, match="differs in seed"):
        weights.load_model(tmp_path, TINY, 1)
    with pytest.raises(InputError, match="cannot read"):
        weights.load_model(tmp_path, TINY, 0)
    record = {"recipe": TINY.configuration(), "seed": 2}
    checkpoints.save(tmp_path / weights.checkpoint_name("tiny", 2), {"w": torch.zeros(2)}, record)
    with pytest.raises(InputError, match="does not hold the weights"):
        weights.load_model(tmp_path, TINY, 2)
    with pytest.raises(InputError, match="no recipe 'nothing'"):
        recipes.check_recipe("nothing")


def test_command_trains_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(recipes.RECIPES, "tiny", TINY)
    monkeypatch.setattr(weights, "STATES", tmp_path / "states")
    run = lambda **options: list(trainings.train_all([("tiny", 0)], tmp_path, **options))
    assert "stopped and saved" in run(minutes=1e-9)[0]
    assert "test error" in run()[0]
    assert run() == ["tiny, seed 0: there already; --anew trains it again."]
    assert "test error" in run(anew=True)[0]
    damage(tmp_path / weights.checkpoint_name("tiny", 0), "one bit")
    assert "test error" in run()[0]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="no CUDA GPU"):
        run(device="cuda")


@pytest.mark.parametrize("name, seed", recipes.SHIPPED)
def test_shipped_checkpoints_are_intact_and_as_good_as_they_say(name, seed, monkeypatch):
    recipe = recipes.RECIPES[name]
    model, record = weights.load_model(weights.FOLDER, recipe, seed)
    if recipe.model.d < 20:
        # On the record's own prompts: of others a few contexts, hard to invert, can make most of the error.
        monkeypatch.setattr(weights, "TEST_PROMPTS", 4096)
        error = weights.tested(recipe, model, weights.generators(seed)[1])
        assert error == pytest.approx(record["test_error"], rel=0.1)  # the record is of the weights before float16
    else:
        # Sixteen prompts of the published size take half a second; its error, of all lengths, is known to a tenth.
        rng, parts = np.random.default_rng([seed, 72]), 3 if name == "pairs" else 8
        with torch.no_grad():
            error = np.mean([recipe.squared_errors(model, rng, 16).mean().item() for _ in range(parts)])
        assert record["test_error"] / 5 < error < 5 * record["test_error"]
    assert record["test_error"] < recipe.model.d  # which 0 would have
    assert len(record["first_losses"]) == weights.REPLAYED and record["curve"][-1] < record["curve"][0]


def test_shipped_sizes():
    sizes = {pair: (weights.FOLDER / weights.checkpoint_name(*pair)).stat().st_size for pair in recipes.SHIPPED}
    assert sizes.pop(("pairs", 0)) < 25_000_000
    assert all(sizes.pop((name, 0)) < 3_000_000 for name in recipes.AT_PUBLISHED_D[1:])
    assert max(sizes.values()) < 1_000_000 and sum(sizes.values()) < 9_500_000


def test_the_shipped_training_replays_and_another_seed_does_not():
    parameters = check_parameters("07_trained_transformers")
    same, other = study.replay_differences(parameters)
    assert same < 1e-3 < 0.1 < other


def test_curriculum():
    curriculum = Curriculum()
    assert curriculum.at(0) == (5, 11) and curriculum.at(1999) == (5, 11) and curriculum.at(2000) == (6, 13)
    assert curriculum.at(500_000) == (20, 41)


def test_queries_and_positions_agree_where_they_meet(rng):
    sequence = probing.Positions(rng.standard_normal((5, 7, 2)), rng.standard_normal((5, 7)))
    context = probing.Queries(sequence.X[:, :6], sequence.y[:, :6], sequence.X[:, 6:], sequence.y[:, 6:])
    model = TINY.build(rng)
    states, asked = sequence.states(model), context.states(model)
    np.testing.assert_allclose(states[:, :, -1], asked[:, :, 0], atol=1e-5)
    outputs = [probing.outputs(model, part) for part in (states, asked)]
    np.testing.assert_allclose(outputs[0][:, -1], outputs[1][:, 0], rtol=1e-5)
    answers = model(*(torch.from_numpy(part).float() for part in (context.X, context.y, context.queries)))
    np.testing.assert_allclose(outputs[1], answers.detach().numpy(), rtol=1e-5)
    for algorithm in (probing.newton, probing.gradient_descent):
        ours, theirs = algorithm(sequence), algorithm(context)
        np.testing.assert_allclose(ours.residuals[..., -1], theirs.residuals[..., 0], atol=1e-7)
    assert (sequence.whole(np.zeros((3, 5, 6)))[..., 0] == -sequence.y[:, 0]).all()


def test_a_model_that_is_newton_is_matched_with_its_steps(rng):
    test = probing.Queries.draw(recipes.RECIPES["base"], 300, rng)
    second = probing.newton(test)
    found = probing.match([second.residuals[2:8]], second, rng, logarithmic=False)
    np.testing.assert_allclose(found.steps, [np.arange(2, 8)], atol=1e-9)
    low, high = found.interval()
    np.testing.assert_allclose(low, high, atol=1e-9)
    assert found.statistic(study.linearity).mean == pytest.approx(1)
    alike = probing.similarity(second.residuals[2:8], second, np.random.default_rng(0))
    np.testing.assert_array_equal(alike.best()[0], np.arange(2, 8))
    other = probing.similarity(second.residuals[2:8], probing.gradient_descent(test), np.random.default_rng(0))
    found = study.advantage([alike, alike], [other, other])
    assert found.mean > 0.001 and 0 < found.stderr < found.mean
    assert study.least_level([alike], 0).mean == pytest.approx(1)


def test_the_trained_model_improves_layer_by_layer():
    parameters = check_parameters("07_trained_transformers")
    found = study.study("base", parameters, Streams("a test", 73))
    errors = found.errors()[0]
    assert errors[0] > 4.5 and errors[-1] < 1e-3 and errors[4] < 0.1 * errors[2]
    steps = found.matching("newton").steps[0]
    assert (np.diff(steps[1:6]) > 0).all() and steps[-1] > 10


def test_probe_warning_by_monte_carlo_of_this_book(rng):
    found = study.probe_design_d(rng)
    assert abs(found.probe[1] - 0.195) < 5 * found.probe_stderr[1]
    assert found.newton[1] == pytest.approx(3.07, rel=0.06)


def test_relu_kernel_is_the_covariance_of_the_networks(rng):
    a, b = rng.standard_normal((1, 2, 3)), rng.standard_normal((1, 4, 3))
    points = np.tile(np.concatenate([a, b], 1), (100_000, 1, 1))
    from icl.targets import FAMILIES

    values = FAMILIES["relu_network"](points, rng)
    products = values[:, :2, None] * values[:, None, 2:]
    error = products.std(0) / np.sqrt(len(products))
    assert (np.abs(products.mean(0) - rivals.relu_kernel(a, b)[0]) < 5 * error).all()


def test_kernel_rule_beats_ridge_on_networks(rng):
    recipe = recipes.RECIPES["relu_network"]
    test = probing.Queries.draw(recipe, 1000, rng)
    found = study.Study(recipe, test, [], 1)
    ridge, kernel = rivals.network_rules(found, rng)
    assert rivals.mean_error(kernel) < 0.99 * rivals.mean_error(ridge) < 0.9 * (test.answers**2).mean()


def test_online_learner_is_closest_to_itself(rng):
    test = probing.Positions.draw(recipes.RECIPES["base"], 400, rng)
    online = rivals.online_gradient_descent(test)
    second = rivals.whole(probing.newton(test), test)
    runs = [[online.residuals[k] for k in (12, 14)], [second.residuals[k] for k in (5, 6)]]
    found = rivals.closeness(runs, [second, online], 0)
    np.testing.assert_allclose([found.value[:, 0, 1], found.value[:, 1, 0]], 1)
    nearer = found.difference((0, 1), (0, 0))
    each = [rivals.closeness([[run], runs[1][:1]], [second, online], 0).difference((0, 1), (0, 0)) for run in runs[0]]
    assert nearer.mean == pytest.approx(np.mean([one.mean for one in each])) and nearer.mean > 0
    assert (found.value[:, 0, 0] < 0.99).all()
    between = np.std([one.mean for one in each], ddof=1) / 2**0.5
    assert nearer.stderr > between > 0 and nearer.stderr > min(one.stderr for one in each) / 2


@pytest.fixture(scope="module")
def at_published_size(tmp_path_factory):
    """A tiny model in its place, trained, and its study."""
    model = PairDecoderConfig(3, 5, layers=3, heads=1, width=8, label_unit=3**0.5)  # a line needs two layers from 2 on
    plan = Plan(1e-3, 1e-2, stretch=50, most=3, decay=1 / 3, warm_up=5, least=3)
    recipe = replace(TINY_PAIRS, name="pairs", model=model, n=5, schedule=plan)
    folder = tmp_path_factory.mktemp("weights")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(weights, "FOLDER", folder)
        patched.setitem(recipes.RECIPES, "pairs", recipe)
        weights.train_recipe(recipe, 0, folder)
        found, model, record = published_size.load("quick")
        assert found is recipe and published_size.load("paper")[0] is recipe, "nobody has trained it interleaved"
        return published_size.study(recipe, model, record, Streams("a test", 0)), model


def test_the_published_size_is_probed_as_it_answers(at_published_size):
    found, model = at_published_size
    X, y = (torch.from_numpy(part).float() for part in (found.test.X, found.test.y))
    with torch.no_grad():
        answers = model(X, y).double().numpy()
    np.testing.assert_allclose(found.runs[0].own, answers[:, 1:] - found.test.answers, atol=1e-5)
    estimate = published_size.last_layer(found)
    assert 0 < estimate.mean < 1 and estimate.stderr > 0
    split = found.similarities_by_examples()
    assert list(split) == ["all positions", "up to d examples", "more than d"]
    by_hand = found.similarities(found.newton, positions=slice(4, None))[0][0]
    np.testing.assert_array_equal(split["more than d"][0][0].map, by_hand.map)


def test_readouts_are_fitted_to_what_can_be_foretold(at_published_size):
    found, model = at_published_size
    train = probing.Sequences.draw(found.recipe, published_size.FIT, Streams("a test", 0)("prompts for pairs"))
    known = published_size.foretold(found.recipe, train)
    assert np.abs(known - train.answers)[:, 2:].max() < 1e-6, "from d examples on that is all"
    assert ((known - train.answers) ** 2).mean(0)[:2] == pytest.approx([2, 1], rel=0.15)
    with torch.no_grad():
        states = model.norm(torch.stack(model.states(*map(torch.tensor, (train.X.astype("f"), train.y.astype("f"))))))
    A = np.concatenate([states[-1, :, 1:].double().numpy(), np.ones((*known.shape, 1))], -1).reshape(-1, 9)
    fitted = np.linalg.lstsq(A, known.ravel(), rcond=1e-6)[0]
    asked = model.norm(found.test.states(model)[-1]).detach().double().numpy()
    by_hand = asked @ fitted[:-1] + fitted[-1] - found.test.answers
    np.testing.assert_allclose(found.runs[0].published[-1], by_hand, atol=1e-4)
    to_labels = np.linalg.lstsq(A, train.answers.ravel(), rcond=1e-6)[0]
    assert np.abs(A @ (fitted - to_labels)).max() > 1e-2, "with so few sequences the labels' noise is seen"


def test_errors_by_examples_at_the_published_size(at_published_size):
    errors = published_size.ByExamples.of(at_published_size[0])
    assert errors.own.shape == errors.best.shape == (published_size.TEST, 5)
    # after t < d noiseless examples least squares knows t of the d directions
    np.testing.assert_allclose(errors.best.mean(0)[:2], [2 / 3, 1 / 3], atol=0.12)
    assert errors.best[:, 2:].max() < 1e-9
    excess = errors.worst_excess()
    assert excess.mean == pytest.approx(max((errors.own - errors.best).mean(0))) and excess.stderr > 0
    assert errors.at_the_end().mean == pytest.approx(np.mean(errors.own[:, 4]))


def test_pictures_of_the_published_size(at_published_size):
    found, _ = at_published_size
    errors = published_size.ByExamples.of(found)
    training = published_pictures.training(found, errors)
    np.testing.assert_array_equal(training.columns["own"], errors.own.mean(0))
    assert {"layer_1", "layer_3"} < training.columns.keys() and training.columns["step"].max() == 199
    turns = [line.get_xdata()[0] for line in training.canvas.axes[0].lines[1:]]
    assert turns == [20, 150], "where prompts of all lengths begin, and where the rates begin to fall"
    ((newton,), (gd,)) = found.similarities(found.newton, found.gd)
    maps = similarity_pictures.similarity_maps([newton], [gd], fu2024_similarity(), name="published_size_maps")
    assert maps.name == "published_size_maps"
    assert len(maps.columns["newton_ours"]) == 3 * (len(probing.NEWTON_STEPS) - 1)


def test_six_layers_are_probed_with_their_noise_taken_off(tmp_path, monkeypatch):
    model = PairDecoderConfig(3, 8, layers=3, heads=1, width=8, label_unit=3**0.5)
    plan = Plan(1e-3, 1e-2, stretch=9, most=3, decay=0.5, warm_up=5, least=3)
    recipe = replace(TINY_PAIRS, name="pairs_small_noisy", law="noisy", model=model, n=8, schedule=plan)
    monkeypatch.setattr(weights, "FOLDER", tmp_path)
    monkeypatch.setitem(recipes.RECIPES, "pairs_small_noisy", recipe)
    weights.train_recipe(recipe, 0, tmp_path)
    found = published_size.six_layers("noisy", Streams("a test", 0))
    assert found.noise == sequence_laws.NOISE**2 and found.recipe is recipe
    assert found.constant_steps == 27
    errors = published_size.ByExamples.of(found)
    X, y, asked = found.test.X[:, :8], found.test.y[:, :8], found.test.X[:, 8]
    S = X.mT @ X + found.noise * np.eye(3)
    ridge = np.einsum("pd,pd->p", asked, np.linalg.solve(S, np.einsum("ptd,pt->pd", X, y)[..., None])[..., 0])
    by_hand = ((ridge - found.test.y[:, 8]) ** 2 - found.noise) / 3
    np.testing.assert_allclose(errors.best[:, -1], by_hand, atol=1e-9)
    assert errors.best.mean(0)[-1] < errors.own.mean(0)[-1]
    with pytest.raises(InputError, match="pairs_small_cubic"):
        published_size.six_layers("cubic", Streams("a test", 0))


def test_both_layouts_are_probed_on_sequences_and_drawn(tmp_path, monkeypatch):
    sizes = dict(layers=3, heads=1, width=8, label_unit=3**0.5)
    tiny = {
        "layout_pairs": replace(TINY_PLAN, model=PairDecoderConfig(3, 5, **sizes), n=5),
        "layout_interleaved": replace(TINY_PLAN, model=DecoderConfig(3, 6, **sizes, start="fan_in"), n=5),
    }
    monkeypatch.setattr(weights, "FOLDER", tmp_path)
    monkeypatch.setattr(probing, "TRAIN", 64)
    monkeypatch.setattr(probing, "TEST", 128)
    parameters, found = check_parameters("07_trained_transformers"), {}
    for name, recipe in tiny.items():
        recipe = replace(recipe, name=name)
        monkeypatch.setitem(recipes.RECIPES, name, recipe)
        weights.train_recipe(recipe, 0, tmp_path)
        weights.train_recipe(recipe, 1, tmp_path)
        found[name] = study.study(name, parameters, Streams("a test", 0), runs=2)
        assert found[name].test.X.shape == (128, 6, 3) and found[name].runs[1].raw.shape == (4, 128, 5)
        X, y = (torch.from_numpy(part).float() for part in (found[name].test.X, found[name].test.y))
        with torch.no_grad():
            answers = found[name].models[1](X, y).double().numpy()
        np.testing.assert_allclose(found[name].runs[1].own, answers[:, 1:] - found[name].test.answers, atol=1e-5)
    layouts = {"in pairs": found["layout_pairs"], "interleaved": found["layout_interleaved"]}
    drawn = published_pictures.layouts(layouts)
    apart = found["layout_interleaved"]
    (newton,), (gd,) = ([runs[1]] for runs in apart.similarities(apart.newton, apart.gd))
    np.testing.assert_array_equal(drawn.columns["lead_interleaved_run1"], gd.best()[1] - newton.best()[1])
    np.testing.assert_array_equal(drawn.columns["steps_interleaved_run1"], apart.matching("newton").steps[1])
    told = published_size.layout_numbers(layouts)
    last = np.array([run.own[:, 4] for run in found["layout_pairs"].runs])
    assert told["layout_error_pairs"] == pytest.approx(np.mean(last**2) / 3)
    kept = [record["steps"]["constant"] for each in layouts.values() for record in each.records]
    assert (
        len(kept) == 4
        and set(kept) <= {50, 75}
        and (told["layout_least"], told["layout_most"]) == (min(kept), max(kept))
    )
    first = apart.matching("newton").steps[:, 2]
    assert 0 <= first.min() and first.max() < 5
    assert (told["layout_first_interleaved_least"], told["layout_first_interleaved_most"]) == (first.min(), first.max())


def test_whoever_trained_it_interleaved_has_that_one_at_the_paper_profile(tmp_path, monkeypatch):
    recipe = replace(TINY_DECODER, name="published", model=DecoderConfig(3, 5, layers=3, heads=1, width=8))
    monkeypatch.setattr(weights, "FOLDER", tmp_path)
    monkeypatch.setitem(recipes.RECIPES, "published", recipe)
    weights.train_recipe(recipe, 0, tmp_path)
    with pytest.raises(InputError, match="pairs-seed0"):
        published_size.load("quick")
    found, model, record = published_size.load("paper")
    assert found is recipe
    probed = published_size.study(found, model, record, Streams("a test", 0))
    picture = published_pictures.training(probed, published_size.ByExamples.of(probed))
    assert len(picture.columns["layer_3"]) == 4 and len(picture.canvas.axes[0].lines) == 1, "its rates never fall"


def test_standard_profile_trains_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(weights, "STATES", tmp_path)
    monkeypatch.setitem(recipes.RECIPES, "tiny", TINY)
    _, record = weights.model_of("tiny", 1, "standard", 5)
    assert record["seed"] == 16 and record["recipe"]["schedule"]["steps"] == 12
    kept = (tmp_path / "standard" / "tiny-seed16.safetensors").stat().st_mtime_ns
    weights.model_of("tiny", 1, "standard", 5)
    assert (tmp_path / "standard" / "tiny-seed16.safetensors").stat().st_mtime_ns == kept
