"""The page of the reference about commands, made of the commands themselves: nothing of it is written twice.

    commands_page()  ->  Markdown: each command with what it does, usage, examples, arguments and options

Not here: when the page is written (`reference_pages`).
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import typer

from dcrfdsl.cli import COMMANDS

__all__ = ["command_examples", "command_tree", "commands_page", "options_of"]

HEAD = """# Commands

`dcrfdsl COMMAND --help` prints the same in a terminal, and `dcrfdsl --version` the version. Data goes to stdout,
messages to stderr. Exit codes: 0 done, 1 unusable input, 2 wrong usage, 70 a fault of the program, 128 + n ended by
signal n.
"""
KINDS = {int: "whole number", float: "number", str: "text", Path: "path", bool: "flag"}
DEFAULT = re.compile(r"\s*\(default: ([^()]+)\)")
EXTRAS = re.compile(r"\s*\[[^\[\]]*\]$")  # `[required]`, `[x>=1]`, which have columns of their own
CODE = re.compile(r"(`[^`]*`)")
OPTION = re.compile(r"(?<![\w`-])--?[a-z][\w-]*")
SHELL = re.compile(r"(?:[^|]*\| *)?dcrfdsl ")


def command_tree() -> dict[str, Any]:
    """Every command by its name, as its parser has it, in the order of the help screen."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.callback()(lambda: None)
    for name, command in COMMANDS.items():
        app.command(name)(command)
    return dict(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def options_of(command: Any) -> tuple[list[Any], list[Any]]:
    """The arguments and the options of a command; `--help` is everybody's."""
    arguments = [item for item in command.params if item.param_type_name == "argument"]
    return arguments, [item for item in command.params if item.param_type_name == "option" and item.name != "help"]


def command_examples(name: str) -> list[str]:
    """The lines of examples in a command's docstring."""
    return [line.strip() for line in _docstring(name).split("\n") if line[:1].isspace() and SHELL.match(line.strip())]


def commands_page() -> str:
    """The page of all commands, in Markdown."""
    tree = command_tree()
    rows = [(f"[`{name}`](#dcrfdsl-{name})", _prose(_paragraphs(name)[0].split(". ")[0].rstrip("."))) for name in tree]
    sections = [_section(name, command) for name, command in tree.items()]
    return "\n".join([HEAD, _table(("command", "what it does"), rows), *sections])


def _docstring(name: str) -> str:
    return inspect.getdoc(COMMANDS[name]) or ""


def _paragraphs(name: str) -> list[str]:
    """The docstring's paragraphs but for the examples."""
    blocks = [block.replace("\b", "").strip("\n") for block in _docstring(name).split("\n\n")]
    return [" ".join(block.split()) for block in blocks if block and not block.startswith("Example:")]


def _section(name: str, command: Any) -> str:
    arguments, options = options_of(command)
    hints = get_type_hints(COMMANDS[name])
    usage = " ".join(["dcrfdsl", name, *map(_usage, [*arguments, *(item for item in options if item.required)])])
    lines = [f"\n## dcrfdsl {name}\n", *(f"{_prose(text)}\n" for text in _paragraphs(name))]
    lines.append(f"```text\n{usage}{' [OPTIONS]' if options else ''}\n```\n")
    lines += ["```sh", *command_examples(name), "```\n"]
    if arguments:
        rows = [(f"`{item.metavar}`", _kind(hints[item.name]), _help(item)[0]) for item in arguments]
        lines.append(_table(("argument", "type", "what it is"), rows))
    rows = [(_names(item), _kind(hints[item.name]), _default(item), _help(item)[0]) for item in options]
    lines.append(_table(("option", "type", "default", "what it does"), rows))
    return "\n".join(lines)


def _usage(item: Any) -> str:
    shown = str(item.metavar).strip("[]")
    if item.param_type_name == "option":
        return f"{item.opts[0]} {shown}"
    return shown if item.required else f"[{shown}]"


def _names(item: Any) -> str:
    """`--output`, `-o` `MODEL`: the long name first."""
    names = sorted([*item.opts, *item.secondary_opts], key=lambda name: not name.startswith("--"))
    value = f" {item.metavar}" if item.metavar else ""
    return ", ".join(f"`{name}{value if n == 0 else ''}`" for n, name in enumerate(names))


def _kind(hint: Any) -> str:
    """A type in words; None, which stands for an option that is not given, is left out."""
    origin, parts = get_origin(hint), [part for part in get_args(hint) if part is not type(None)]
    if origin in (Union, types.UnionType):
        return _kind(parts[0])
    if origin is Literal:
        return " or ".join(f"`{part}`" for part in parts)
    if origin is list:
        return f"{_kind(parts[0])}, repeatable"
    return KINDS[hint]


def _help(item: Any) -> tuple[str, str]:
    """What an argument or option does, and the default that its help names."""
    text = EXTRAS.sub("", item.help or "").removesuffix(" Repeatable.")  # its type says so
    found = DEFAULT.search(text)
    return _prose(DEFAULT.sub("", text)), _prose(found[1]) if found else ""


def _default(item: Any) -> str:
    if item.required:
        return "required"
    value = item.default
    if value is None or isinstance(value, bool):
        said = _help(item)[1] or ("off" if value is False else "")
    else:
        said = f"`{value}`"
    return f"{said}, or `{item.envvar}`" if item.envvar and said else said


def _prose(text: str) -> str:
    """Plain text as Markdown: options become code, and marks of Markdown are escaped."""
    parts = CODE.split(text)
    for n in range(0, len(parts), 2):
        escaped = re.sub(r"[\\*_<>\[\]$]", r"\\\g<0>", parts[n])
        parts[n] = OPTION.sub(r"`\g<0>`", escaped)
    return "".join(parts)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells) + "\n"
