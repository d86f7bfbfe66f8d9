"""What terms give on distinct values: texts, truth values, numbers or weighted texts. Not here: evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...foundation import Codes, Floats, Mask
from .bag_values import Bags


@dataclass(frozen=True)
class Source:
    """Token n has the value `values[codes[n]]`; the code -1 means none."""

    codes: Codes  #          [N]
    values: Sequence[Any]  # [V]  texts, numbers, or truth values


@dataclass(frozen=True)
class Texts:
    """No, one or several texts per distinct value, without repetitions."""

    of: list[tuple[str, ...]]  # [V]


@dataclass(frozen=True)
class Truths:
    of: Mask  # [V]


@dataclass(frozen=True)
class Numbers:
    """One number per distinct value; NaN for none."""

    of: Floats  # [V]


Values: TypeAlias = Texts | Truths | Numbers | Bags
