"""The typed parameters of an experiment: what every chapter takes, and a chapter's own from its table in TOML."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model, model_validator
from pydantic_core import PydanticCustomError

from icl.validation import InputError, nearest, short

LARGEST_PROMPT = 200_000  # covariate entries, n · d
PROFILES = ("quick", "standard", "paper")  # of the book
CLAIMS = "claims"  # exact and Monte Carlo claims alone, without pictures and trainings: what the atlas runs


class Parameters(BaseModel):
    """What every chapter takes: d, n ≥ 1; sigma2 ≥ 0 and finite; seed ≥ 0; profile."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    d: Annotated[int, Field(ge=1, le=200, description="number of covariates")] = 5
    n: Annotated[int, Field(ge=1, le=10_000, description="context length")] = 20
    sigma2: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False, description="noise variance")] = 0.25
    seed: Annotated[int, Field(ge=0, lt=2**63, description="seed of every generator")] = 0
    profile: Annotated[Literal["quick", "standard", "paper", "claims"], Field(description="how much is computed")] = (
        "quick"
    )

    @model_validator(mode="after")
    def _fits_into_memory(self):
        """Every chapter holds some 2000 prompts of n · d covariates at once."""
        if self.n * self.d > LARGEST_PROMPT:
            gigabytes = 2000 * self.n * self.d * 8 / 1e9
            raise PydanticCustomError(
                "too_large",
                "n · d must be at most {most}, or 2000 prompts take {gigabytes} GB of memory; take fewer of either",
                {"most": LARGEST_PROMPT, "gigabytes": f"{gigabytes:.0f}"},
            )
        return self


def extended(table: dict[str, dict]) -> type[Parameters]:
    """`Parameters` and those of `table`: name → meaning, default (a whole number or a float), least, most."""
    fields = {}
    for name, own in table.items():
        kind = type(own["default"])
        limits = Field(ge=own["least"], le=own["most"], allow_inf_nan=False, description=own["meaning"])
        fields[name] = (Annotated[kind, limits], own["default"])
    return create_model("Parameters", __base__=Parameters, **fields)


def checked(schema: type[Parameters], owner: str, values: dict) -> Parameters:
    """The parameters with these values; missing ones take their defaults.

    Raises InputError, one sentence that names the `owner`, for an unknown name (with the nearest one), a wrong type or
    a value out of range.
    """
    try:
        return schema(**values)
    except ValidationError as error:
        raise InputError(_sentence(owner, schema, error)) from None


def parsed(schema: type[Parameters], owner: str, texts: Iterable[str]) -> dict[str, object]:
    """Turn every `name=value` of a command line into a typed value; raises InputError also for a name given twice."""
    values = {}
    for name, value in (_parsed(schema, owner, text) for text in texts):
        if name in values:
            raise InputError(f"{name} is given twice; give each parameter once.")
        values[name] = value
    return values


def check_profile(name: str) -> str:
    """Return `name` if it is a profile; raise InputError with the nearest name otherwise."""
    if name not in PROFILES:
        raise InputError(
            f"there is no profile {short(name)}{nearest(name, PROFILES)}; profiles: {', '.join(PROFILES)}."
        )
    return name


def _parsed(schema, owner, text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"{short(text)} is not of the form name=value, as in -p d=7.")
    if name not in schema.model_fields:
        raise InputError(_unknown(owner, schema, name))
    kind = schema.model_fields[name].annotation
    try:
        return name, kind(value) if kind in (int, float) else value
    except ValueError:
        wanted = "a whole number" if kind is int else "a number"
        raise InputError(f"{name} must be {wanted}, not {short(value)}.") from None


def _sentence(owner, schema, error: ValidationError) -> str:
    first = error.errors()[0]
    if not first["loc"]:  # the parameters fit one by one, but not together
        together = ", ".join(f"{name} = {value}" for name, value in first["input"].items())
        return f"{together or 'these parameters'} do not fit together: {first['msg']}."
    name = str(first["loc"][0])
    if first["type"] == "extra_forbidden":
        return _unknown(owner, schema, name)
    complaint = first["msg"][0].lower() + first["msg"][1:]
    return f"{name} = {short(first['input'])} does not fit: {complaint}."


def _unknown(owner, schema, name) -> str:
    known = schema.model_fields
    return f"{owner} has no parameter {short(name)}{nearest(name, known)}; it takes {', '.join(known)}."
