"""Settings of inference methods: one frozen class per method, with its defaults and limits.

`INFERENCE` is the table that the checker and the rooms below share: a method is known if it is listed there. Tolerances
are absolute, of messages that are normalised to sum 1. Not here: what a method and its settings mean
(`reference/words.md`), criteria (`training_settings`), priors (`prior_settings`), optimizers (`optimizer_settings`).
"""

from typing import Literal

from .method_settings import MethodSettings, methods_of, setting


class ExactSettings(MethodSettings):
    method = "exact"
    max_table: int = setting(2**24, unit="entries, 8 bytes each", ge=1, le=2**30)


class _MessagePassing(MethodSettings):
    """Base of methods that send messages, or update marginals, until they rest."""

    tolerance: float = setting(1e-3, unit="absolute", gt=0, lt=1)
    max_iterations: int = setting(1000, unit="iterations", ge=1)
    damping: float = setting(0.0, unit="share", ge=0, lt=1)
    seed: int = setting(0, ge=0)


class _TreePassing(_MessagePassing):
    """Base of methods that send messages along random spanning trees."""

    trees: Literal["random", "cover"] = "cover"


class TrpSettings(_TreePassing):
    method = "trp"


class BpSettings(_MessagePassing):
    method = "bp"
    schedule: Literal["random", "flood", "residual"] = "random"


class AutoSettings(_TreePassing):
    method = "auto"
    max_table: int = setting(2**24, unit="entries, 8 bytes each", ge=1, le=2**30)


class MeanFieldSettings(_MessagePassing):
    method = "mean_field"


class TrwSettings(_MessagePassing):
    method = "trw"
    tolerance: float = setting(1e-3, unit="nats", gt=0, lt=1)


class GibbsSettings(MethodSettings):
    method = "gibbs"
    gives_log_z = False
    samples: int = setting(1000, unit="sweeps", ge=1)
    burn_in: int = setting(100, unit="sweeps", ge=0)
    thin: int = setting(1, unit="sweeps", ge=1)
    seed: int = setting(0, ge=0)


class GbpSettings(MethodSettings):
    method = "gbp"
    clusters: Literal["loops", "join", "factors"] = "loops"
    size: int = setting(4, unit="variables", ge=2, le=20)
    max_table: int = setting(2**16, unit="entries, 8 bytes each", ge=1, le=2**26)
    double_loop: Literal["fallback", "always", "never"] = "fallback"
    max_iterations: int = setting(1000, unit="sweeps", ge=1)
    tolerance: float = setting(1e-3, unit="nats", gt=0, lt=1)
    damping: float | None = setting(None, unit="share", ge=0, lt=1)


class EpSettings(MethodSettings):
    method = "ep"
    family: Literal["tree", "factored"] = "tree"
    power: float = setting(1.0, unit="share", gt=0, le=1)
    max_iterations: int = setting(200, unit="sweeps", ge=1)
    tolerance: float = setting(1e-3, unit="absolute", gt=0, lt=1)
    damping: float = setting(0.0, unit="share", ge=0, lt=1)


class PrunedSettings(MethodSettings):
    method = "pruned"
    by: str | None = None
    threshold: float = setting(1e-3, unit="probability", ge=0, lt=1)
    keep: int = setting(16, unit="labels", ge=1)
    states: float | None = setting(None, unit="labels", gt=0)


INFERENCE = methods_of(
    "inference method", ExactSettings, TrpSettings, BpSettings, AutoSettings, MeanFieldSettings, TrwSettings,
    GbpSettings, EpSettings, GibbsSettings, PrunedSettings,
)  # fmt: skip
