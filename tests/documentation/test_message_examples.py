"""The examples of messages in the reference: each is printed as it is shown, and no message of a template has none."""

from __future__ import annotations

import contextlib
import runpy
import shlex
from pathlib import Path

import pytest
from helpers import ROOT, example_modules
from slugs import slugs_of

from dcrfdsl.cli import run
from dcrfdsl.semantics.reference.message_pages import EXPLANATIONS

(EXAMPLES,) = example_modules(ROOT / "docs" / "_ext", "message_examples")
COMMANDS = EXAMPLES.COMMAND_EXAMPLES
PROGRAMS = {"dcrfdsl": run, "python": lambda arguments: runpy.run_path(arguments[0])}


@pytest.mark.long
def test_the_messages_of_templates_have_an_example() -> None:
    shown = {slug for slug in EXPLANATIONS if EXAMPLES.example_of(slug)} | set(COMMANDS)
    assert slugs_of("syntax", "semantics") - shown == set()


def test_an_example_has_a_template_and_its_message() -> None:
    text, message = EXAMPLES.example_of("unknown-piece")
    assert "train piecewise(nxt)" in text and message.startswith("error[unknown-piece]: ") and "\n\n" not in message
    assert EXAMPLES.example_of("no-such-thing") is None


def test_examples_are_short() -> None:
    lines = {slug: len(found[0].splitlines()) for slug in EXPLANATIONS if (found := EXAMPLES.example_of(slug))}
    assert {slug for slug, count in lines.items() if count > 8} <= {"groups-too-deep"}


def test_messages_of_commands_have_pages() -> None:
    assert set(COMMANDS) - set(EXPLANATIONS) == set() and len(COMMANDS) > 40


@pytest.mark.parametrize("slug", COMMANDS)
def test_a_command_prints_what_is_shown(slug: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = COMMANDS[slug]
    for name, content in example.files.items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with contextlib.chdir(tmp_path):
        for line in example.command.splitlines():
            program, *arguments = shlex.split(line)
            PROGRAMS[program](arguments)
    assert example.message.partition("[")[2].startswith(f"{slug}]: ")
    assert f"{example.message}\n" in "".join(capsys.readouterr())
