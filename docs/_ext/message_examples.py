"""An example of each message: what brings it, and the message as it is printed.

The messages of a template are taken from the templates with mistakes that the tests check, `tests/language/bad`. Those
of data, models and commands are in `command_examples`, and those that need a program in `program_examples`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import command_examples
from command_examples import CommandExample
from program_examples import PROGRAM_EXAMPLES

COMMAND_EXAMPLES: Mapping[str, CommandExample] = {**command_examples.COMMAND_EXAMPLES, **PROGRAM_EXAMPLES}

BAD = Path(__file__).resolve().parents[2] / "tests" / "language" / "bad"
WITH_DATA = "occurrences"  # its messages come from a template together with data
HEADING = re.compile(r"^=== (.+)\n", re.MULTILINE)
MESSAGE = re.compile(r"^(?:error|warning|note)\[([a-z0-9-]+)\]")
BETWEEN = re.compile(r"\n\n(?=(?:error|warning|note)\[)")


def example_of(slug: str) -> tuple[str, str] | None:
    """The text of a template and the message that it gets; None if no template brings the message by itself.

    Of several templates the one with the fewest messages is chosen, and of these the shortest.
    """
    return _examples().get(slug)


@functools.cache
def _examples() -> Mapping[str, tuple[str, str]]:
    best: dict[str, tuple[tuple[int, int], str, str]] = {}
    for path, messages in _transcripts():
        text = path.read_text(encoding="utf-8")
        size = (len(messages), len(text))
        for message in reversed(messages):  # the first one of a kind counts
            slug = MESSAGE.match(message)
            if slug and text.strip() and (slug[1] not in best or size <= best[slug[1]][0]):
                best[slug[1]] = (size, text, message)
    return {slug: (text, message) for slug, (_, text, message) in best.items()}


def _transcripts() -> Iterator[tuple[Path, list[str]]]:
    """Each template with its messages."""
    for expected in sorted(BAD.glob("*/expected.txt")):
        if expected.parent.name == WITH_DATA:
            continue
        parts = HEADING.split(expected.read_text(encoding="utf-8"))[1:]
        for name, transcript in zip(parts[::2], parts[1::2], strict=True):
            yield expected.parent / name, BETWEEN.split(transcript.strip("\n"))
