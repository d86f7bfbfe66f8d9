"""Problems with the order of training stages: the name of a missing stage, a cycle of `after`.

Not here: the chain of stages itself (`settings_reading.stage_chain`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...foundation import Diagnostic, Label, did_you_mean, quoted_names
from .located_spec import SpanTable
from .model_spec import Stage


def unknown_stage(label: str, known: Iterable[str], place: Label | None) -> Diagnostic:
    """The error for an unknown stage. `place`: where it is named."""
    names = list(known)
    guess = did_you_mean(label, names)
    remedy = f"did you mean `{guess}`?" if guess else f"the stages are {', '.join(quoted_names(names))}"
    return Diagnostic("unknown-stage", f"there is no training stage `{label}`", place, help=remedy)


def stage_cycle(stages: Sequence[Stage], circle: Sequence[int], spans: SpanTable) -> Diagnostic:
    """The error for stages that wait for each other. `circle`: their numbers; each stage comes after the next one, and
    the last after the first.

    Points at the first `after` that names a later stage or its own stage, because stages run in the order of the text.
    """
    number = {stages[n].label: n for n in circle}
    first = min(n for n in circle if number[stages[n].after or ""] >= n)
    others = sorted(n for n in circle if n != first)
    places = {n: spans.label(*(_path(n)), text=f"`{stages[n].label}` after `{stages[n].after}`") for n in circle}
    there = tuple(place for n in others if (place := places[n]) is not None)
    names = quoted_names([stages[n].label for n in sorted(circle)])
    message = f"stage {names[0]} comes after itself"
    if others:
        message = f"stages {', '.join(names[:-1])} and {names[-1]} come after each other"
    remedy = f"leave out one `after`, as in `train {stages[first].criterion.name} as {stages[first].label}`"
    return Diagnostic("stage-cycle", message, places[first], there, remedy)


def _path(number: int) -> tuple[str | int, ...]:
    return ("stages", number, "after")
