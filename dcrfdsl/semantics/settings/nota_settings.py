"""The cases in which "none of the above" (NOTA) is right, for training in pieces.

Source: McCallum & Sutton 2004, §3. Not here: pieces themselves (`training_settings`).
"""

from __future__ import annotations

from typing import Literal

from ...foundation import Table
from .method_settings import MethodSettings, setting


class _Cases(MethodSettings):
    """Base of sets of cases."""

    reach: Literal["all", "one"] = setting(
        "all", "every joint value of what a piece conditions on, or those that differ from the gold in `one` variable"
    )


class AllCases(_Cases):
    """Every case."""

    method = "all"
    source = "McCallum & Sutton 2004, §3"
    example = "train piecewise(nota = all)"


class SampledCases(_Cases):
    """Cases drawn at random, once, for each sentence by `seed` and its number in the data."""

    method = "sampled"
    source = "McCallum & Sutton 2004, §3"
    example = "train piecewise(nota = sampled(0.2))"
    positional = ("rate",)
    rate: float = setting(0.1, "the probability of each case", unit="probability", gt=0, le=1)
    seed: int = setting(0, "draws the cases", ge=0)


class LikelyCases(_Cases):
    """The cases that the model at hand holds likely, by the product of its marginals, chosen once."""

    method = "above"
    source = "McCallum & Sutton 2004, §3"
    example = "train piecewise(nota = above(0.2, 20))"
    positional = ("threshold", "after")
    threshold: float = setting(0.2, "the least probability of a case", unit="probability", gt=0, lt=1)
    after: int = setting(20, "the iteration after which they are chosen", unit="iterations", ge=1)


CASES: Table[type[MethodSettings]] = Table(
    "set of cases for `nota`", {s.method: s for s in (AllCases, SampledCases, LikelyCases)}
)
