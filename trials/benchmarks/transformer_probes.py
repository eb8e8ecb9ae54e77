"""How long it takes to probe every layer of a trained transformer, in closed form and by gradient descent.

`make bench` writes benchmarks/transformer_probes.md. One thread; processor seconds, so that a busy machine does not
matter much.
"""

from timing import PROCESSOR, once, seconds, write_tables  # sets one thread, before NumPy starts

# isort: split
import numpy as np
import torch

from icl import probes
from icl.chapters.trained_transformers import probing, recipes, weights


def setting():
    """The shipped base model with 1024 prompts to fit on and 2048 to test on, ten queries each."""
    recipe = recipes.RECIPES["base"]
    model, _ = weights.load_model(weights.FOLDER, recipe, 0)
    rng = np.random.default_rng(0)
    train = probing.Queries.draw(recipe, probing.TRAIN, rng)
    return model, train, probing.Queries.draw(recipe, probing.TEST, rng)


def adam_readouts(states, answers, steps):
    """The same ReadOuts by Adam on all layers at once, learning rate 1e-2 falling to 0; returns their errors."""
    X = torch.from_numpy(states.reshape(len(states), -1, states.shape[-1])).float()
    y = torch.from_numpy(answers.ravel()).float()
    weights, intercepts = torch.zeros(X.shape[0], X.shape[2]), torch.zeros(X.shape[0])
    weights.requires_grad_(), intercepts.requires_grad_()
    optimiser = torch.optim.Adam([weights, intercepts], lr=1e-2)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, steps)
    errors = lambda: ((X @ weights[:, :, None])[..., 0] + intercepts[:, None] - y).square().mean(1)
    for _ in range(steps):
        optimiser.zero_grad()
        errors().sum().backward()
        optimiser.step(), schedule.step()
    return errors().detach().numpy()


def parts():
    """What is done, and the fitted error of the last layer before the LayerNorm; medians of 3 runs, Adam once."""
    model, train, test = setting()
    took = lambda action: seconds(action, 3, PROCESSOR)
    states = train.states(model).numpy()
    yield "| what | processor seconds | training error, last layer |"
    yield "|---|---|---|"
    yield f"| hidden states of 3072 prompts | {took(lambda: (train.states(model), test.states(model))):.2f} | |"
    fitted = probes.fit_readouts(states, train.answers)
    error = ((fitted(states)[-1] - train.answers) ** 2).mean()
    closed = took(lambda: probes.fit_readouts(states, train.answers))
    yield f"| ReadOuts of 9 layers, closed form | {closed:.2f} | {error:.2e} |"
    for steps in (100, 1000):
        found, once_took = once(lambda k=steps: adam_readouts(states, train.answers, k)[-1], PROCESSOR)
        yield f"| the same by {steps} steps of Adam | {once_took:.2f} | {found:.2e} |"
    whole = took(lambda: probing.probe(model, train, test))
    yield f"| everything: two kinds of probe, fitted and tested | {whole:.2f} | |"


if __name__ == "__main__":
    torch.set_num_threads(1)
    write_tables("transformer_probes", "Speed of chapter 7's probes", (parts,))
