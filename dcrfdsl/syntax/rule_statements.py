"""The statements that are rules: what labels must and must not be, how long their runs are, what is expected of them.

Not here: the other statements and the table of all (`statements`), what a condition means (`semantics.conditions`).
"""

from __future__ import annotations

from typing import Any, Literal, Self

from .nodes import Condition, Reference
from .statement_base import AS_NAME, OPTIONS, Part, Reading, Statement, option_value, read_limits
from .statement_options import amount, choice


class Constraint(Statement, kind="constraint"):
    """`forbid condition [when …]`, or `require condition [when …]`; with a `cost` it is no law but a price."""

    shapes = dict.fromkeys(("forbid", "require"), (Part("condition"), Part("when", "when"), AS_NAME, OPTIONS))
    section, word, space = "constraints", "constraint", "part"
    with_options = {"forbid": {"cost": amount}, "require": {"cost": amount}}

    action: Literal["forbid", "require"]
    condition: Condition
    when: Condition | None = None
    name: str | None = None
    cost: float | Reference | None = None
    doc: tuple[str, ...] = ()

    @classmethod
    def read(cls, reading: Reading) -> Self:
        parts = {name: part for name, part in reading.parts.items() if name != "with"}
        return cls(action=reading.keyword, **parts, **cls.read_options(reading))  # type: ignore[arg-type]

    @property
    def keyword(self) -> str:
        return self.action


class Once(Statement, kind="once"):
    """`once label [except {…}]`: each type of its segments, or state, at most once a sequence, but those in `free`."""

    shapes = {"once": (Part("label", form="word"), Part("free", "except", "states"), AS_NAME)}
    section, word, space = "onces", "constraint", "part"

    label: str
    free: tuple[str, ...] = ()
    name: str | None = None
    doc: tuple[str, ...] = ()


class Runs(Statement, kind="runs"):
    """`runs of label [is state] [from least] [up to most]`: the length of each longest run of a state, or segment."""

    shapes = {
        "runs": (
            Part("variable", "of", "word"), Part("state", "is", "state"), Part("least", "from"),
            Part("most", "up to"), AS_NAME, OPTIONS,
        ),
    }  # fmt: skip
    section, word, space = "runs", "constraint", "part"
    with_options = {"runs": {"ends": choice("cut", "whole")}}

    variable: str
    state: str | None = None
    least: int | Reference = 1
    most: int | Reference | None = None
    name: str | None = None
    ends: Literal["cut", "whole"] | None = None
    doc: tuple[str, ...] = ()

    @classmethod
    def read(cls, reading: Reading) -> Self:
        parts = {name: part for name in ("variable", "state", "name") if (part := reading.parts.get(name)) is not None}
        return cls(**parts, **read_limits(reading, ("least", "most")), **cls.read_options(reading))

    def plain_parts(self, *, every_option: bool = False) -> dict[str, Any]:
        limits = {"least": None if self.least == 1 and self.most is not None else self.least, "most": self.most}
        written = {name: option_value(one) for name, one in limits.items() if one is not None}
        parts = super().plain_parts(every_option=every_option)
        return {name: part for name, part in parts.items() if name not in limits} | written


class Expectation(Statement, kind="expectation"):
    """`expect condition [when …]`: at what share of the places where `when` holds the condition should hold."""

    shapes = {"expect": (Part("condition"), Part("when", "when"), AS_NAME, OPTIONS)}
    section, word, space, action = "expectations", "expectation", "part", "expect"
    with_options = {"expect": dict.fromkeys(("share", "least", "most", "strength"), amount)}

    condition: Condition
    when: Condition | None = None
    name: str | None = None
    share: float | Reference | None = None
    least: float | Reference = 0.0
    most: float | Reference = 1.0
    strength: float | Reference = 1.0
    doc: tuple[str, ...] = ()
