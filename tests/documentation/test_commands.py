"""Every command and option says what it does, and every example of a command is one that the command takes."""

from __future__ import annotations

import importlib.util
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").exists())
loaded = importlib.util.spec_from_file_location("command_pages", ROOT / "docs/_ext/command_pages.py")
assert loaded is not None and loaded.loader is not None
command_pages = importlib.util.module_from_spec(loaded)
loaded.loader.exec_module(command_pages)

TREE: dict[str, Any] = command_pages.command_tree()
EXAMPLES = [(name, example) for name in TREE for example in command_pages.command_examples(name)]


@pytest.mark.parametrize("name", TREE)
def test_a_command_says_what_it_does(name: str) -> None:
    assert re.match(r"[A-Z].+\.", TREE[name].help or "")
    assert command_pages.command_examples(name)


@pytest.mark.parametrize("name", TREE)
def test_every_argument_and_option_has_a_sentence(name: str) -> None:
    arguments, options = command_pages.options_of(TREE[name])
    assert [item.name for item in (*arguments, *options) if not (item.help or "").rstrip().endswith(".")] == []


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_an_example_is_taken(name: str, example: str) -> None:
    call = next(part for part in re.split(r"[|<>]", example) if part.strip().startswith("dcrfdsl"))
    _, command, *arguments = shlex.split(call)
    assert command == name
    TREE[name].make_context(name, list(arguments))


def test_the_page_has_everything() -> None:
    page = command_pages.commands_page()
    for name, command in TREE.items():
        assert f"\n## dcrfdsl {name}\n" in page
        section = page.partition(f"\n## dcrfdsl {name}\n")[2].partition("\n## ")[0]
        arguments, options = command_pages.options_of(command)
        assert [item.name for item in options if not all(f"`{option}" in section for option in item.opts)] == []
        assert [item.name for item in arguments if f"`{item.metavar}`".replace("|", "\\|") not in section] == []
        assert all(example in section for example in command_pages.command_examples(name))
