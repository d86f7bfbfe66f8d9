"""`dataclass` as in the standard library, but the methods of a class are made when they are first used.

The standard library writes up to six methods for each class as text and compiles them where the class is declared. A
command declares 340 classes and makes objects of a few of them, so that this took a tenth of the start of `tag`. Here
`__init__` is written when an object is first made, and the other methods are the same functions for all classes.
`fields`, `replace`, `asdict`, signatures, inheritance and pickling are as in the standard library, which makes classes
with slots or an order. Not here: nodes of the tree, which are made by keyword alone (`syntax.nodes`).
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: type | None = None, /, **options: Any) -> Any:
        """The decorator, with the arguments of `dataclasses.dataclass`."""
        return _declare(cls) if cls is not None else lambda kind: _declare(kind, **options)


def _declare(cls: Any, *, frozen: bool = False, eq: bool = True, repr: bool = True, **others: Any) -> Any:
    if others.keys() - {"kw_only"}:
        return dataclasses.dataclass(frozen=frozen, eq=eq, repr=repr, **others)(cls)
    own = {name for name in vars(cls) if name != "__hash__" or vars(cls)[name] is not None}  # `__eq__` makes it None
    dataclasses.dataclass(init=False, repr=False, eq=False, **others)(cls)
    methods: dict[str, Any] = {"__init__": _LateInit(cls, frozen)}
    methods |= {"__repr__": _repr} if repr else {}
    if eq:
        compared = _values(field.name for field in dataclasses.fields(cls) if field.compare)
        methods["__eq__"] = lambda self, other: (
            compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented
        )
        methods["__hash__"] = (lambda self: hash(compared(self))) if frozen else None
    if frozen:
        names = {field.name for field in dataclasses.fields(cls)}
        methods |= {name: _refusing(name, cls, names) for name in ("__setattr__", "__delattr__")}
    for name in methods.keys() - own:
        setattr(cls, name, methods[name])
    return cls


class _Factory:
    """What stands in a signature for a default that is made for each object."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()


class _LateInit:
    """`__init__` of a class, made when it is asked for."""

    def __init__(self, cls: Any, frozen: bool):
        self._cls, self._frozen = cls, frozen

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        made = _made_init(self._cls, self._frozen)
        type.__setattr__(self._cls, "__init__", made)
        return made.__get__(instance, owner)


def _made_init(cls: Any, frozen: bool) -> Any:
    given: dict[bool, list[str]] = {False: [], True: []}  # by keyword alone?
    lines, known, types = [], {"_absent": _FACTORY, "_set": object.__setattr__}, {}
    for field in dataclasses.fields(cls):
        name, value = field.name, field.name
        if field.default_factory is not dataclasses.MISSING:
            known[f"_made_{name}"] = field.default_factory
            value = f"_made_{name}() if {name} is _absent else {name}" if field.init else f"_made_{name}()"
        if field.init:
            has_default = field.default is not dataclasses.MISSING
            known[f"_default_{name}"] = field.default if has_default else _FACTORY
            may_lack = has_default or value != name
            given[bool(field.kw_only)].append(f"{name}=_default_{name}" if may_lack else name)
            types[name] = field.type
        if field.init or value != name:
            lines.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    lines += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else []
    arguments = ", ".join(["self", *given[False], *(["*", *given[True]] if given[True] else [])])
    body = "\n  ".join(lines or ["pass"])
    text = f"def make({', '.join(known)}):\n def __init__({arguments}):\n  {body}\n return __init__"
    made: dict[str, Any] = {}
    exec(text, sys.modules[cls.__module__].__dict__, made)
    method = made["make"](**known)
    method.__annotations__ = {**types, "return": None}
    method.__qualname__ = f"{cls.__qualname__}.__init__"
    return method


def _values(names: Iterable[str]) -> Callable[[Any], Any]:
    return attrgetter("__class__", *names)


@recursive_repr()
def _repr(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refusing(method: str, cls: Any, names: set[str]) -> Callable[..., None]:
    """`__setattr__` or `__delattr__` of a class that is frozen."""
    verb = "assign to" if method == "__setattr__" else "delete"

    def refuse(self: Any, name: str, *value: Any) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot {verb} field {name!r}")
        getattr(super(cls, self), method)(name, *value)

    return refuse
