"""The note of `tag` and `eval` on labels that are proven to be the best. Not here: the proof (`inference.decoding`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..foundation import figure

if TYPE_CHECKING:
    from ..inference import RunStatus

__all__ = ["bound_note"]


def bound_note(status: RunStatus) -> str:
    """On how many sentences the labels are proven to be the best, and the mean gap on the others."""
    if status.certified == status.bounded:
        return f"note: the labels of all {status.bounded:,} sentences are proven to be the best"
    return (
        f"note: the labels of {status.certified:,} of {status.bounded:,} sentences are proven to be the best; on the "
        f"others no labels score more than {figure(status.mean_gap)} above those found, on average"
    )
