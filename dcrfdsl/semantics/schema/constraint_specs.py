"""Hard constraints as a specification has them: `forbid`, `require`, `once`.

Not here: what they mean (`conditions`).
"""

from __future__ import annotations

from typing import Literal

from .expressions import Condition, Frozen


class Constraint(Frozen):
    """`forbid condition [when …]`, or `require condition [when …]`"""

    kind: Literal["constraint"] = "constraint"
    action: Literal["forbid", "require"]
    condition: Condition
    when: Condition | None = None
    name: str | None = None
    doc: tuple[str, ...] = ()


class Once(Frozen):
    """`once label [except {…}]`: each type of its segments, or state, at most once a sequence, but those in `free`."""

    kind: Literal["once"] = "once"
    label: str
    free: tuple[str, ...] = ()
    name: str | None = None
    doc: tuple[str, ...] = ()
