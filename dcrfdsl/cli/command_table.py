"""The commands by name, in the order of the help screen, and what `commands.md` says of each at length.

The module of a command is loaded when it is asked for. Not here: how a command line is read (`options`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

# Module and function, where they are not `NAME_command` and NAME.
_MODULES = {
    "new": "template_commands", "fmt": "template_commands", "lsp": "template_commands", "eval": "evaluate_command",
    "show": "model_commands", "report": "model_commands", "why": "sentence_commands",
    "probability": "sentence_commands",
}  # fmt: skip
_FUNCTIONS = {"eval": "evaluate", "compile": "compile_kernels"}  # words of Python
# The sections of the help screen: first the path from a template to tagged text, then what lies beside it.
GROUPS = {
    "First steps": ("demo", "new", "check", "train", "eval", "tag"),
    "Look inside": ("why", "report", "show", "probability", "unroll"),
    "Do better": ("cv", "compare", "suggest", "calibrate"),
    "Take along": ("export", "compile", "convert", "infer"),
    "Help with templates": ("explain", "fmt", "lsp", "schema"),
}
_NAMES = tuple(name for names in GROUPS.values() for name in names)


class _Functions(Mapping[str, Callable[..., None]]):
    """The functions of the commands by name. A module is imported when one is asked for."""

    def __getitem__(self, name: str) -> Callable[..., None]:
        if name not in _NAMES:
            raise KeyError(name)
        module = import_module(f".{_MODULES.get(name, f'{name}_command')}", __package__)
        function: Callable[..., None] = getattr(module, _FUNCTIONS.get(name, name))
        return function

    def __contains__(self, name: object) -> bool:
        return name in _NAMES

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


COMMANDS: Mapping[str, Callable[..., None]] = _Functions()


class CommandHelp(NamedTuple):
    """What `commands.md` says of a command.

    examples: command lines that `--help` shows; more: the further ones.   meanings: of arguments and options by name.
    sections: those of the help, by the names of the options in them.
    """

    paragraphs: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    meanings: Mapping[str, str] = {}
    sections: Mapping[str, str] = {}


_BLOCK = re.compile(r"^```\n((?:.+\n)+)```$", re.MULTILINE)
_ITEM = re.compile(r"^\* ([^:]+): (.+)\n", re.MULTILINE)
_SECTION = re.compile(r"^### (.+)\n\n((?:\* .+\n)+)", re.MULTILINE)


@cache
def command_help() -> Mapping[str, CommandHelp]:
    """By command. One that the file leaves out has its docstring alone."""
    found = {}
    intro, *pages = Path(__file__).with_name("commands.md").read_text(encoding="utf-8").split("\n## ")
    shared = dict(_ITEM.findall(intro))
    for page in pages:
        name, _, body = page.partition("\n")
        examples, more, *_ = (*(tuple(lines.splitlines()) for lines in _BLOCK.findall(body)), (), ())
        prose = _ITEM.sub("", _SECTION.sub("", _BLOCK.sub("", body)))
        paragraphs = (block.strip("\n") for block in prose.split("\n\n"))
        meanings = shared | dict(_ITEM.findall(body))
        sections = {item[1]: one[1] for one in _SECTION.finditer(body) for item in _ITEM.finditer(one[2])}
        found[name] = CommandHelp(tuple(filter(None, paragraphs)), examples, more, meanings, sections)
    return found
