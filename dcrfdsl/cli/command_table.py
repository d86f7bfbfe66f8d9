"""The commands by name, in the order of the help screen. The module of a command is loaded when it is asked for.

So `dcrfdsl --help` loads none of them. Not here: how a command line is read (`options`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TypeVar

# Module and function, where they are not `NAME_command` and NAME.
_MODULES = {
    "new": "template_commands", "fmt": "template_commands", "lsp": "template_commands", "eval": "evaluate_command",
    "show": "model_commands", "report": "model_commands", "why": "sentence_commands",
    "probability": "sentence_commands",
}  # fmt: skip
_FUNCTIONS = {"eval": "evaluate"}  # `eval` is a word of Python
_NAMES = (
    "demo", "new", "convert", "check", "explain", "fmt", "train", "cv", "tag", "eval", "compare", "report", "show",
    "why", "probability", "calibrate", "export", "unroll", "infer", "schema", "lsp",
)  # fmt: skip

Made = TypeVar("Made")


class MadeWhenAsked(Mapping[str, Made]):
    """Values by their names, each of which is made when it is first asked for."""

    def __init__(self, names: Iterable[str], make: Callable[[str], Made]):
        self._names, self._make = tuple(names), cache(make)

    def __getitem__(self, name: str) -> Made:
        if name not in self._names:
            raise KeyError(name)
        return self._make(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _function(name: str) -> Callable[..., None]:
    module = import_module(f".{_MODULES.get(name, f'{name}_command')}", __package__)
    function: Callable[..., None] = getattr(module, _FUNCTIONS.get(name, name))
    return function


COMMANDS: Mapping[str, Callable[..., None]] = MadeWhenAsked(_NAMES, _function)
