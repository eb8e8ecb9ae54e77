"""How steps are taken: a schedule of rates, and Adam alone or beside Muon, whose state can be kept and put back.

Muon (Jordan et al., 2024) replaces a matrix's momentum by the nearest orthogonal matrix: every direction moves as far.
It is for the matrices between hidden states; Adam keeps the read-in, the read-out, positions, norms and biases.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import nn
from torch.optim.adam import adam

from icl.validation import InputError, check_count


@dataclass(frozen=True)
class Schedule:
    """`steps` ≥ 1, Adam's peak `learning_rate` > 0, gradients clipped at `clip`; `muon`, Muon's peak rate, if it is on.

    Both rates rise linearly over the first `warm_up` steps. Then they fall to 0: as a cosine over all steps, or, given
    `decay_from`, linearly from that step on, the peak before it; without `decay` they stay.
    """

    steps: int
    learning_rate: float
    clip: float = math.inf
    decay: bool = True
    warm_up: int = 0
    decay_from: int | None = None
    muon: float | None = None

    def __post_init__(self):
        check_count("steps", self.steps)
        check_count("warm_up", self.warm_up, least=0)
        for name in ("learning_rate", "muon"):
            rate = getattr(self, name)
            if not (name == "muon" and rate is None) and not (math.isfinite(rate) and rate > 0):
                raise InputError(f"{name} must be a positive number, not {rate!r}.")
        if self.decay_from is not None and check_count("decay_from", self.decay_from, least=0) >= self.steps:
            raise InputError(f"decay_from = {self.decay_from} must lie before the last of {self.steps} steps.")

    @property
    def kept(self) -> int:
        """How many steps pass before the rates begin to fall."""
        if not self.decay:
            return self.steps
        return self.decay_from or 0  # a cosine falls from the first step on

    def share(self, step: int) -> float:
        """The part of the peak rates that step 0 ≤ step < steps takes, in (0, 1]."""
        rising = min(1.0, (step + 1) / self.warm_up) if self.warm_up else 1.0
        if not self.decay:
            return rising
        if self.decay_from is None:
            return rising * ((1 + math.cos(math.pi * step / self.steps)) / 2)
        return rising * min(1.0, (self.steps - step) / (self.steps - self.decay_from))

    def rate(self, step: int) -> float:
        """Adam's learning rate at step 0 ≤ step < steps."""
        return self.learning_rate * self.share(step)


def hidden_matrices(model: nn.Module) -> dict[str, int]:
    """Name of each matrix between hidden states → how many matrices are stacked in it.

    Queries, keys and values of attention stand in one parameter, an LSTM's four gates as well; each is orthogonalised
    by itself.
    """
    found = {}
    for name, parameter in model.named_parameters():
        if parameter.ndim == 2 and "blocks." in name:
            found[name] = 3 if name.endswith("qkv.weight") else 1
        elif name.startswith("cells.weight") and not name.endswith("ih_l0"):
            found[name] = 4
    return found


def quickest_products(device: str) -> torch.dtype:
    """What to multiply matrices in on "cpu" or "cuda" where eight bits are enough: bfloat16 or float32.

    A processor without instructions for bfloat16 has it too, and takes two to fifty times as long for it.
    """
    here = torch.cpu.get_capabilities()
    native = device != "cpu" or here.get("avx512_bf16", False) or here.get("amx_bf16", False)
    return torch.bfloat16 if native else torch.float32


class Adam:
    """PyTorch's Adam by its function. Its class loads PyTorch's compiler, two seconds of every process that trains.

    `state` holds, of each parameter that has had a gradient, its step count and moments, under PyTorch's names.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], *, fused: bool = True):
        self.parameters, self.fused = list(parameters), fused
        self.state: dict[nn.Parameter, dict[str, torch.Tensor]] = {}

    @torch.no_grad()
    def step(self, learning_rate: float) -> None:
        """Move every parameter that has a gradient."""
        moved = [parameter for parameter in self.parameters if parameter.grad is not None]
        for parameter in moved:
            if parameter not in self.state:
                moments = {name: torch.zeros_like(parameter) for name in ("exp_avg", "exp_avg_sq")}
                self.state[parameter] = {"step": torch.zeros((), device=parameter.device), **moments}
        state = [self.state[parameter] for parameter in moved]
        first, second, steps = ([each[name] for each in state] for name in ("exp_avg", "exp_avg_sq", "step"))
        adam(
            moved, [parameter.grad for parameter in moved], first, second, [], steps, fused=self.fused, amsgrad=False,
            beta1=0.9, beta2=0.999, lr=learning_rate, weight_decay=0.0, eps=1e-8, maximize=False,
        )  # fmt: skip


class StackedMuon(torch.optim.Muon):
    """PyTorch's Muon as `Optimiser` sets it up, with matrices of one shape in one stack.

    One by one, a step of many small matrices keeps a GPU waiting: it takes longer to launch than to compute. PyTorch's
    own multiplies in bfloat16 whatever it is given, this one float32 in `quickest_products` and float64 as it is.
    """

    @torch.no_grad()
    def step(self) -> None:
        """Move every matrix that has a gradient."""
        (group,) = self.param_groups
        alike = {}
        for matrix in group["params"]:
            alike.setdefault(matrix.shape, []).append(matrix)
        for (rows, columns), matrices in alike.items():
            gradients = torch.stack([matrix.grad for matrix in matrices])
            moments = [
                self.state[matrix].setdefault("momentum_buffer", torch.zeros_like(matrix)) for matrix in matrices
            ]
            torch._foreach_lerp_(moments, gradients.unbind(), 1 - group["momentum"])
            updates = gradients.lerp(torch.stack(moments), group["momentum"])  # Nesterov's
            size = group["lr"] * 0.2 * math.sqrt(max(rows, columns))
            moves = -size * orthogonalised(updates, group["ns_coefficients"], group["ns_steps"], group["eps"])
            torch._foreach_add_(matrices, moves.to(gradients.dtype).unbind())


def orthogonalised(M: torch.Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> torch.Tensor:
    """Nearly the nearest orthogonal matrices of a stack M (k, m, n): Newton–Schulz of fifth order.

    X ← aX + (bG + cG²)X with G = XXᵀ, from M over its Frobenius norm (Jordan et al., 2024).
    """
    a, b, c = coefficients
    tall = M.shape[1] > M.shape[2]
    X = M.mT if tall else M  # G as small as it can be
    if X.dtype == torch.float32:
        X = X.to(quickest_products(X.device.type))
    X = X / X.norm(dim=(1, 2), keepdim=True).clamp(min=eps)
    for _ in range(steps):
        G = X @ X.mT
        X = torch.baddbmm(X, torch.baddbmm(G, G, G, beta=b, alpha=c), X, beta=a)
    return X.mT if tall else X


class Optimiser:
    """Adam on every parameter, or, with `schedule.muon`, Muon on the hidden matrices and Adam on the others.

    Muon is PyTorch's: Nesterov momentum .95, five Newton–Schulz steps, no weight decay, each update times
    .2 √max(rows, columns), as large as Adam's (Liu et al., 2025). Raises InputError where it is on and finds no matrix.
    """

    def __init__(self, model: nn.Module, schedule: Schedule):
        self.schedule, self.parameters = schedule, dict(model.named_parameters())
        stacked = {} if schedule.muon is None else hidden_matrices(model)
        self.views, self.muon = {}, None
        for name, count in stacked.items():
            # Views of one storage, for torch's Muon takes whole parameters: what moves them moves the model.
            for k, part in enumerate(self.parameters[name].detach().chunk(count)):
                self.views[name, k, count] = nn.Parameter(part)
        if schedule.muon is not None:
            if not stacked:
                raise InputError("this model has no hidden matrices for Muon; train it with Adam alone (muon=None).")
            self.muon = StackedMuon(
                self.views.values(), lr=schedule.muon, weight_decay=0.0, adjust_lr_fn="match_rms_adamw"
            )
        self.rest = {name: value for name, value in self.parameters.items() if name not in stacked}
        self.adam = Adam(self.rest.values())

    def zero_grad(self) -> None:
        """Forget the gradients."""
        for parameter in self.parameters.values():
            parameter.grad = None

    def step(self, step: int) -> None:
        """Clip the gradients, then move every parameter, at the rates of that step."""
        if math.isfinite(self.schedule.clip):
            nn.utils.clip_grad_norm_(self.parameters.values(), self.schedule.clip)
        self.adam.step(self.schedule.rate(step))
        if self.muon is not None:
            for (name, k, count), view in self.views.items():
                view.grad = self.parameters[name].grad.chunk(count)[k]
            self.muon.param_groups[0]["lr"] = self.schedule.muon * self.schedule.share(step)
            self.muon.step()

    def tensors(self) -> dict[str, torch.Tensor]:
        """All that a later step depends on besides weights and schedule, by name."""
        kept = {
            f"adam.{key}.{name}": value
            for name, parameter in self.rest.items()
            for key, value in self.adam.state[parameter].items()
        }
        for (name, k, _), view in self.views.items():
            kept[f"muon.{k}.{name}"] = self.muon.state[view]["momentum_buffer"]
        return kept

    def put_back(self, tensors: dict[str, torch.Tensor]) -> None:
        """Take over what `tensors` gave; raises KeyError for a missing part and InputError for one of another shape."""
        for name, parameter in self.rest.items():
            saved = {key: tensors[f"adam.{key}.{name}"] for key in ("step", "exp_avg", "exp_avg_sq")}
            if any(saved[moment].shape != parameter.shape for moment in ("exp_avg", "exp_avg_sq")):
                raise InputError(f"Adam's moments of {name} have another shape")
            self.adam.state[parameter] = {key: part.to(parameter.device) for key, part in saved.items()}
        for (name, k, _), view in self.views.items():
            momentum = tensors[f"muon.{k}.{name}"]
            if momentum.shape != view.shape:
                raise InputError(f"Muon's momentum of {name} has another shape")
            self.muon.state[view]["momentum_buffer"] = momentum.to(view.device)
