"""`dcrfdsl explain`: any word of the language, kind of message, command or option, from the tables that are in use."""

from __future__ import annotations

import inspect
import re
import shutil
import textwrap
from importlib import import_module
from typing import TYPE_CHECKING, Annotated

from .. import semantics
from ..foundation import did_you_mean, spelling_remedy
from .console import refuse
from .options import Argument

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


MOST_COLUMNS = 100  # longer lines are hard to read
# modules for other libraries: the page of the documentation, and names of theirs
LIBRARIES = {
    "torch": ("how-to/pytorch", "pytorch, torchcrf, pytorch-crf"),
    "jax": ("how-to/jax", "flax, optax"),
    "plot": ("how-to/figures", "matplotlib"),
    "spacy": ("how-to/spacy", "DocBin"),
    "transformers": ("how-to/transformers", "huggingface, id2label"),
    "sklearn": ("how-to/scikit-learn", "scikit-learn, sklearn-crfsuite"),
    "crfsuite": ("coming-from/crfsuite", "pycrfsuite, python-crfsuite"),
}


def explain(
    names: Annotated[list[str] | None, Argument("[NAME]...")] = None,
) -> None:
    """Explain a word of the language, a message, command or option."""
    if not names:
        print("\n".join(_overview()))
        return
    pages = [_page(name) for name in names]
    print("\n\n".join(pages))


def _overview() -> Iterable[str]:
    """All names, a paragraph a kind."""
    from .command_reference import command_entries

    kinds: dict[str, list[str]] = {}
    for entry in (*command_entries(), *_libraries(), *semantics.reference_entries()):
        kinds.setdefault(entry.kind, []).append(entry.name)
    for kind, names in kinds.items():
        yield "\n".join([kind, *_indented(["  ".join(names)])])
    yield "\n`dcrfdsl explain NAME` explains one of them, a setting, or an option of a command."


def _page(name: str) -> str:
    """All that stands under a name; DcrfError if nothing does."""
    from .command_reference import command_entries

    if name.startswith("-") and len(name) > 1:
        return _option_page(name.partition("=")[0])
    in_brackets = re.fullmatch(r"(?:error|warning|note)\[(.+)\]", name)
    slug = in_brackets[1] if in_brackets else name
    entries, settings = semantics.entries_named(slug), semantics.settings_named(name)
    commands = (entry for entry in command_entries() if entry.name == name)
    libraries = (entry for entry in _libraries() if _names_library(entry, name))
    parts = [described(entry) for entry in (*entries, *commands, *libraries)]
    if settings:
        parts.append("\n".join(_setting_lines(name, settings)))
    parts = parts or [described(entry) for entry in _with_word(name)]
    if not parts:
        refuse("unknown-word", f"`{name}` is no word of the language and no kind of message", _remedy(name))
    return "\n\n".join(parts)


def _libraries() -> Iterable[semantics.ReferenceEntry]:
    """An entry for each module that meets another library, from what the module says; the library is not loaded."""
    for name, (page, others) in LIBRARIES.items():
        module = import_module(f"dcrfdsl.{name}")
        summary, *rest = inspect.cleandoc(module.__doc__ or "").split("\n\n")
        public, where = ", ".join(module.__all__), f"See docs/{page}.md, and `help` of its names in Python."
        usage = f"from dcrfdsl.{name} import {public}"
        text = "\n\n".join((*rest, where))
        yield semantics.ReferenceEntry("module", name, usage, summary, text, synonyms=tuple(others.split(", ")))


def _names_library(entry: semantics.ReferenceEntry, name: str) -> bool:
    """Whether a module, a public name of it, or a name of the library is asked for."""
    known = (entry.name, *entry.usage.partition(" import ")[2].split(", "), *entry.synonyms)
    return name.removeprefix("dcrfdsl.").lower() in (one.lower() for one in known)


def _with_word(word: str) -> Iterable[semantics.ReferenceEntry]:
    """The statements whose form has a word, as that of `piece` has `locked`."""
    if word.islower():  # what stands for a name is in capitals
        for entry in semantics.reference_entries():
            if entry.kind == "statement" and re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", entry.usage):
                yield entry


def _option_page(name: str) -> str:
    """What an option does, by the commands that have it; DcrfError if none has it."""
    from .command_reference import described_command, option_entries
    from .command_table import COMMANDS

    entries = list(option_entries(name))
    if not entries:
        known = [each for command in COMMANDS for option in described_command(command).options for each in option.names]
        guess = did_you_mean(name, list(dict.fromkeys(known)))
        remedy = spelling_remedy(guess, "`dcrfdsl COMMAND --help` lists the options of a command")
        refuse("unknown-word", f"`{name}` is an option of no command", remedy)
    return "\n\n".join(map(described, entries))


def _remedy(name: str) -> str:
    """The nearest word of the language, or command."""
    from .command_table import COMMANDS

    guess = semantics.nearest_name(name) or did_you_mean(name, list(COMMANDS))
    return spelling_remedy(guess, "`dcrfdsl explain` lists all names")


def described(entry: semantics.ReferenceEntry) -> str:
    lines = [f"{entry.kind} {entry.name}", ""]
    if entry.usage:
        lines += [*_indented([entry.usage], 4), ""]
    first, *further = entry.text.split("\n\n")
    lines += _indented([entry.summary, first], 0)
    for paragraph in further:
        lines += ["", *_indented([paragraph], 0)]
    if entry.settings:
        lines.append("")
        for setting in entry.settings:
            lines += [f"  {setting.name}  {setting.facts}".rstrip(), *_indented([setting.meaning], 6)]
    settings = "Its settings, written out"
    for title, text in (("Example", entry.example), (settings, entry.written_out), ("Grammar", entry.grammar)):
        if text:
            lines += ["", f"{title}:", *(f"    {line}" for line in text.strip().splitlines())]
    if entry.source:
        lines += ["", f"Source: {entry.source}"]
    if entry.synonyms:
        lines += ["", f"Elsewhere: {', '.join(entry.synonyms)}"]
    return "\n".join(lines)


def _setting_lines(name: str, settings: Sequence[tuple[str, semantics.SettingEntry]]) -> Iterable[str]:
    """A setting of this name, with whatever has it; those that say the same stand together."""
    holders: dict[semantics.SettingEntry, list[str]] = {}
    for owner, setting in settings:
        holders.setdefault(setting, []).append(owner)
    yield f"setting {name}"
    for setting, owners in holders.items():
        yield ""
        yield from _indented([f"of {', '.join(owners)}: {setting.facts}"])
        yield from _indented([setting.meaning], 6)
        yield from (f"          {line}" for line in setting.example.splitlines())


def _indented(paragraphs: Iterable[str], by: int = 2) -> list[str]:
    """Paragraphs broken to the width of the terminal, without the empty ones."""
    width = max(40, min(MOST_COLUMNS, shutil.get_terminal_size().columns))
    return [
        line
        for paragraph in paragraphs
        for line in textwrap.wrap(
            paragraph, width, initial_indent=" " * by, subsequent_indent=" " * by, break_long_words=False,
            break_on_hyphens=False,
        )
    ]  # fmt: skip
