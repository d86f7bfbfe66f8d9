"""Commands and their options as entries of the reference, made of the commands themselves: nothing is written twice.

    command_entries()        every command with its options, as `dcrfdsl explain` shows it
    option_entries(name)     what `--name` does, by the commands that have it
    described_command(name)  the same, with arguments, for the page of commands

Not here: what an option does, what a command does at length, and command lines with its options (`commands.md`); the
page of the documentation.
"""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

from .. import semantics
from .command_table import COMMANDS, CommandHelp, command_help
from .options import command_parser, value_type

KINDS = {int: "whole number", float: "number", str: "text", Path: "path", bool: "flag"}
DEFAULT = re.compile(r"\s*\(default: ([^()]+)\)")


class DescribedOption(NamedTuple):
    """An argument or option.   names: the long one first; an argument's is its metavar.   value: what stands after it.
    examples: the command lines that have it.
    """

    names: tuple[str, ...]
    value: str
    kind: str
    default: str
    meaning: str
    examples: tuple[str, ...]


class DescribedCommand(NamedTuple):
    """A command.   paragraphs: its docstring, and what is said at length.   usage: its line without the optional
    options.   examples: those that `--help` shows; more: the further lines with its options.
    """

    name: str
    usage: str
    paragraphs: tuple[str, ...]
    arguments: tuple[DescribedOption, ...]
    options: tuple[DescribedOption, ...]
    examples: tuple[str, ...]
    more: tuple[str, ...]


@cache
def described_command(name: str) -> DescribedCommand:
    function, said = COMMANDS[name], command_help().get(name, CommandHelp())
    command, hints = command_parser(name, function), get_type_hints(function)
    lines = (*said.examples, *said.more)
    items = {kind: [item for item in command.params if item.param_type_name == kind] for kind in ("argument", "option")}
    options = items["option"]
    usage = [_usage(item) for item in (*items["argument"], *(item for item in options if item.required))]
    return DescribedCommand(
        name,
        " ".join(["dcrfdsl", name, *usage, *(["[OPTIONS]"] if options else [])]),
        tuple(" ".join(text.split()) for text in (inspect.getdoc(function) or "", *said.paragraphs)),
        tuple(_described(item, hints[item.name], lines) for item in items["argument"]),
        tuple(_described(item, hints[item.name], lines) for item in options),
        said.examples,
        said.more,
    )


def command_entries() -> Iterator[semantics.ReferenceEntry]:
    """An entry a command, whose settings are its options."""
    for command in map(described_command, COMMANDS):
        settings = tuple(
            semantics.SettingEntry(
                ", ".join(option.names) + (f" {option.value}" if option.value else ""),
                option.kind, option.default, "", "", option.meaning.rstrip("."),
            )
            for option in command.options
        )  # fmt: skip
        summary, *rest = command.paragraphs
        yield semantics.ReferenceEntry(
            "command", command.name, command.usage, summary, "\n\n".join(rest), settings=settings,
            example="\n".join((*command.examples, *command.more)),
        )  # fmt: skip


def option_entries(name: str) -> Iterator[semantics.ReferenceEntry]:
    """The entries of an option, `--set` or `-o`: one for the commands where it does the same."""
    same: dict[tuple[str, ...], list[tuple[str, DescribedOption]]] = {}
    for command in map(described_command, COMMANDS):
        for option in command.options:
            if name in option.names:
                key = (", ".join(option.names), option.value, option.kind, option.default, option.meaning)
                same.setdefault(key, []).append((command.name, option))
    for (names, value, kind, default, meaning), holders in same.items():
        facts = ", ".join(filter(None, [kind, default if default in ("", "required") else f"default {default}"]))
        commands = ", ".join(f"`{command}`" for command, _ in holders)
        yield semantics.ReferenceEntry(
            "option", name, f"{names} {value}".rstrip(), meaning, f"Of {commands}: {facts}.",
            example="\n".join(option.examples[0] for _, option in holders if option.examples),
        )  # fmt: skip


def _usage(item: Any) -> str:
    shown = str(item.metavar).removeprefix("[").removesuffix("...").removesuffix("]").removesuffix("...")
    if item.param_type_name == "option":
        return f"{item.opts[0]} {shown}"
    shown += " …" if item.nargs == -1 else ""
    return shown if item.required else f"[{shown}]"


def _described(item: Any, hint: Any, lines: Sequence[str]) -> DescribedOption:
    text = (item.help or "").removesuffix(" Repeatable.")  # its type says so
    found = DEFAULT.search(text)
    meaning, default = DEFAULT.sub("", text), _default(item, found[1] if found else "")
    if item.param_type_name == "argument":
        return DescribedOption((str(item.metavar),), "", _kind(hint), default, meaning, ())
    names = sorted([*item.opts, *item.secondary_opts], key=lambda name: not name.startswith("--"))
    examples = tuple(line for line in lines if set(names) & set(shlex.split(line)))
    return DescribedOption(tuple(names), item.metavar or "", _kind(hint), default, meaning, examples)


def _default(item: Any, said: str) -> str:
    if item.required:
        return "required"
    unset = "off" if item.default is False else ""
    shown = said or unset if item.default in (None, ()) or item.default is True or unset else f"`{item.default}`"
    return f"{shown}, or `{item.envvar}`" if item.envvar and shown else shown


def _kind(hint: Any) -> str:
    kind, is_list = value_type(hint)
    word = " or ".join(f"`{part}`" for part in get_args(kind)) if get_origin(kind) is Literal else KINDS[kind]
    return f"{word}, repeatable" if is_list else word
