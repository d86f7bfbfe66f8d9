"""Notes of `tag` and `eval` on what is proven of the labels. Not here: the proof (`inference.decoding`, `model`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..foundation import figure

if TYPE_CHECKING:
    from ..inference import RunStatus


def bound_note(status: RunStatus) -> str:
    """On how many sentences the labels are proven to be the best, and the mean gap on the others."""
    if status.certified == status.bounded:
        return f"note: the labels of all {status.bounded:,} sentences are proven to be the best"
    return (
        f"note: the labels of {status.certified:,} of {status.bounded:,} sentences are proven to be the best; on the "
        f"others no labels score more than {figure(status.mean_gap)} above those found, on average"
    )


def compared_note(count: int) -> str:
    """On how many sentences nothing proves that no other labels are likelier than those of a model with latents."""
    sentences = "1 sentence" if count == 1 else f"{count:,} sentences"
    return (
        f"note: latent variables are summed out: the labels of {sentences} are the likeliest of those that were "
        "compared, and nothing proves that no others are likelier"
    )
