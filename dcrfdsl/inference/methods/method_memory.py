"""What inference methods remember from one evaluation to the next, for checkpoints: messages, and their tolerance.

Not here: the methods themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...foundation import recalled
from ..base import MarginalInference
from .message_method import MessageMethod
from .per_sentence_method import PerSentenceMethod
from .wrapped_methods import WeightedMethod


def method_memory(method: MarginalInference) -> dict[str, Any]:
    """What later results of a method depend on beside the weights, as plain values and arrays."""
    if isinstance(method, WeightedMethod):
        return method_memory(method.method)
    if isinstance(method, PerSentenceMethod):
        return {"parts": [method_memory(part) for part in method.methods]}
    if isinstance(method, MessageMethod):
        is_kept = method.is_kept.astype("uint8")
        return {"tolerance": method.tolerance, "messages": method.kept, "is_kept": is_kept}
    return {}


def recall_method(method: MarginalInference, saved: Mapping[str, Any]) -> None:
    """Goes on from what `method_memory` returned."""
    if isinstance(method, WeightedMethod):
        recall_method(method.method, saved)
    elif isinstance(method, PerSentenceMethod):
        for part, memory in zip(method.methods, saved["parts"], strict=True):
            recall_method(part, memory)
    elif isinstance(method, MessageMethod):
        method.tolerance = saved["tolerance"]
        method.kept[:] = recalled(saved, "messages", len(method.kept), dtype=method.kept.dtype)
        method.is_kept[:] = recalled(saved, "is_kept", len(method.is_kept), dtype=np.uint8).astype(bool)
