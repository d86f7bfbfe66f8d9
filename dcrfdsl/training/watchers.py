"""Ready callbacks for `fit(…, on_iteration=…)`: a progress bar as tqdm's, scalars as TensorBoard's writers take them.

They call methods of the object that a user brings, so no package is needed here. Not here: the log of a training
(`training_log`), the command's own display (`cli.report`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ..optimizers import Iteration

SCALARS = ("objective", "gradient_norm", "dev", "gap")


class Bar(Protocol):
    """What is used of a `tqdm.tqdm`."""

    def update(self, n: int = 1) -> Any: ...

    def set_postfix(self, ordered_dict: Any = None, refresh: bool = True, **values: Any) -> Any: ...


class ScalarWriter(Protocol):
    """What is used of a `SummaryWriter` of TensorBoard, or of anything like it."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int) -> Any: ...


def progress_bar(bar: Bar) -> Callable[[Iteration], None]:
    """Moves a bar by one with each iteration, with the objective and the dev score beside it.

    bar: a `tqdm.tqdm`, or what has its `update` and `set_postfix`; the caller closes it. Raises TypeError for others.

    >>> class Bar:
    ...     def update(self, n): pass
    ...     def set_postfix(self, shown, refresh): self.shown = shown
    >>> bar = Bar()
    >>> model = fit("address.dcrf", corpus, on_iteration=progress_bar(bar))
    >>> list(bar.shown)
    ['objective']
    """
    _require_methods(bar, "update", "set_postfix")

    def report(step: Iteration) -> None:
        shown = {"objective": f"{step.objective:.6g}"}
        if step.dev is not None:
            shown[f"dev {step.metric}"] = f"{step.dev:.4f}"
        bar.set_postfix(shown, refresh=False)
        bar.update(1)

    return report


def scalar_writer(writer: ScalarWriter, prefix: str = "") -> Callable[[Iteration], None]:
    """Writes what an iteration has of objective, gradient_norm, dev and gap, each under its name.

    writer: has `add_scalar(tag, value, step)`, as a `SummaryWriter` of TensorBoard. Raises TypeError for others.
    prefix: before each name, as `run/`.

    The steps of several random starts go to names that end with the number of the start.

    >>> class Writer:
    ...     tags = set()
    ...     def add_scalar(self, tag, value, step): self.tags.add(tag)
    >>> model = fit("address.dcrf", corpus, on_iteration=scalar_writer(Writer()))
    >>> sorted(Writer.tags)
    ['gradient_norm', 'objective']
    """
    _require_methods(writer, "add_scalar")

    def report(step: Iteration) -> None:
        for name in SCALARS:
            value = getattr(step, name)
            if value is not None:
                tag = f"{prefix}{name}/{step.start}" if step.start else f"{prefix}{name}"
                writer.add_scalar(tag, value, step.iteration)

    return report


def _require_methods(given: object, *names: str) -> None:
    for name in names:
        if not callable(getattr(given, name, None)):
            raise TypeError(f"an object with a method `{name}` is needed, not {type(given).__name__}")
