"""`foundation.dataclass` beside `dataclasses.dataclass`: the same classes, declared by both."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from dcrfdsl.foundation.late_dataclass import _declare

DECORATORS: dict[str, Callable[..., Any]] = {
    "own": lambda **options: lambda cls: _declare(cls, **options),
    "standard": lambda **options: dataclasses.dataclass(**options),
}
OPTIONS: list[dict[str, bool]] = [
    {}, {"frozen": True}, {"eq": False}, {"frozen": True, "eq": False}, {"frozen": True, "kw_only": True},
    {"repr": False}, {"frozen": True, "slots": True}, {"order": True},
]  # fmt: skip


def classes(kind: str, options: dict[str, bool]) -> tuple[Any, Any]:
    """A class and one that extends it."""
    decorator = DECORATORS[kind](**options)

    @decorator
    class Point:
        """A point."""

        x: int
        y: float = 2.0
        notes: list[str] = dataclasses.field(default_factory=list, compare=False)
        hidden: int = dataclasses.field(default=3, repr=False)

    @decorator
    class Named(Point):
        """With a name, and something that is computed."""

        name: str = "p"
        size: dict[str, int] = dataclasses.field(default_factory=dict, init=False, hash=False, compare=False)

        def __post_init__(self) -> None:
            self.size["x"] = self.x

    return Point, Named


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(options) or "plain")
def test_classes_behave_as_those_of_the_standard_library(options: dict[str, bool]) -> None:
    found = {}
    for kind in DECORATORS:
        Point, Named = classes(kind, options)
        p = Named(x=1, name="q") if options.get("kw_only") else Named(1, 5.0, ["n"], name="q")
        same = copy.copy(p)
        found[kind] = [
            outcome(lambda p=p: repr(p).partition("Named")[2]) if options.get("repr", True) else None,
            p == same, p != same, p == 3, p.size, p.notes, p.hidden,
            outcome(lambda p=p: isinstance(hash(p), int)), outcome(lambda p=p, same=same: (hash(p) == hash(same))),
            outcome(lambda p=p: setattr(p, "x", 4)), outcome(lambda p=p: delattr(p, "y")),
            outcome(lambda Point=Point: Point()), outcome(lambda Point=Point: Point(x=1, unknown=2)),
            outcome(lambda Point=Point: Point(1, 2.0, [], 3, 4)),
            dataclasses.asdict(p), [field.name for field in dataclasses.fields(Named)],
            str(inspect.signature(Point)), str(inspect.signature(Named)), Point.__match_args__,
            outcome(lambda Point=Point: Point(x=1) < Point(x=2)),
        ]  # fmt: skip
    assert found["own"] == found["standard"]


def test_each_object_has_its_own_defaults_that_are_made() -> None:
    Point, _ = classes("own", {})
    one, other = Point(1), Point(1)
    one.notes.append("n")
    assert other.notes == [] and one == other


@DECORATORS["own"](frozen=True)
class Kept:
    """What pickle finds by its name."""

    x: int
    y: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return f"kept {self.x}"


class Extended(Kept):
    """No dataclass, but its base is one."""


def test_pickles_copies_and_methods_of_the_class_itself() -> None:
    kept = Kept(1, (2, 3))
    assert pickle.loads(pickle.dumps(kept)) == kept == copy.deepcopy(kept)
    assert dataclasses.replace(kept, x=5) == Kept(5, (2, 3))
    assert repr(kept) == "kept 1"
    extended = Extended(1)
    extended.more = 3  # as in the standard library: only fields are frozen
    assert extended != Kept(1) and extended == Extended(1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        extended.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del kept.x


def test_a_class_that_contains_itself_can_be_shown() -> None:
    Point, _ = classes("own", {})
    point = Point(1)
    point.notes.append(point)
    assert "..." in repr(point)
