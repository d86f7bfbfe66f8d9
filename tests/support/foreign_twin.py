"""CRF++'s and Wapiti's patterns, string by string: what the tools make of a sentence, written down slowly.

From their manuals. The strings are counted as the tools count them, so that the numbers of weights can be compared
without the tools. Nothing is shared with the converter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

Sentence = Sequence[Sequence[str]]  # rows of columns, the label last

PLAIN = re.compile(r"%x\[(-?[0-9]+),([0-9]+)\]")
MACRO = re.compile(r'%([xXtTmM])\[ *([+-]?[0-9]+),([0-9]+)(?:,"((?:\\.|[^"\\])*)")?\]')
CLASSES = {
    "a": str.isalpha, "d": str.isdigit, "l": str.islower, "u": str.isupper, "w": str.isalnum, "s": str.isspace,
    "p": lambda char: char in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
}  # fmt: skip


def sentences_of(path: Path, most: int) -> list[list[list[str]]]:
    """The first sentences of a column file."""
    blocks = path.read_text(encoding="utf-8").split("\n\n", most)[:most]
    return [[line.split() for line in block.splitlines()] for block in blocks if block.strip()]


# CRF++ ----------------------------------------------------------------------------------------------------------------


def crfpp_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def crfpp_string(line: str, sentence: Sentence, t: int) -> str:
    def value(match: re.Match[str]) -> str:
        at = t + int(match[1])
        if at < 0:
            return f"_B{at}"
        return sentence[at][int(match[2])] if at < len(sentence) else f"_B+{at - len(sentence) + 1}"

    return PLAIN.sub(value, line)


def crfpp_weights(text: str, sentences: Sequence[Sentence]) -> tuple[int, int]:
    """CRF++'s `Number of features`, and how many more there are if strings of a `B` count at first tokens, too.

    L for each string of a `U`, L² for each string of a `B` at a token that has one before it.
    """
    labels = len({row[-1] for sentence in sentences for row in sentence})
    strings: tuple[set[str], set[str], set[str]] = (set(), set(), set())  # of U, of B, of B at first tokens
    for line in crfpp_lines(text):
        for sentence in sentences:
            for t in range(len(sentence)):
                strings[0 if line[0] == "U" else 1 if t else 2].add(crfpp_string(line, sentence, t))
    return labels * len(strings[0]) + labels**2 * len(strings[1]), labels**2 * len(strings[2] - strings[1])


# Wapiti ---------------------------------------------------------------------------------------------------------------


def wapiti_lines(text: str) -> list[str]:
    lines = [line.partition("#")[0].rstrip() for line in text.splitlines()]
    return [line[0].lower() + line[1:] for line in lines if line]


def wapiti_string(line: str, sentence: Sentence, t: int) -> str:
    def value(match: re.Match[str]) -> str:
        command, row, column, regex = match[1], int(match[2]), int(match[3]), match[4]
        at = t + row
        if at < 0:
            text = f"_x{at}" if at >= -4 else "_x-#"
        elif at < len(sentence):
            text = sentence[at][column]
        else:
            beyond = at - len(sentence) + 1
            text = f"_x+{beyond}" if beyond <= 4 else "_x+#"
        if command in "tT":
            return "true" if search(regex, text) is not None else "false"
        if command in "mM":
            text = search(regex, text) or ""
        return text.lower() if command.isupper() else text

    return MACRO.sub(value, line)


def wapiti_weights(text: str, sentences: Sequence[Sentence]) -> int:
    """Wapiti's `nb features`: L for each string of a `u`, L² of a `b`, both of a `*`."""
    labels = len({row[-1] for sentence in sentences for row in sentence})
    strings = {
        wapiti_string(line, sentence, t)
        for line in wapiti_lines(text)
        for sentence in sentences
        for t in range(len(sentence))
    }
    return sum(labels * (string[0] in "u*") + labels**2 * (string[0] in "b*") for string in strings)


def search(regex: str, text: str) -> str | None:
    """What a regular expression of Wapiti matches first."""
    starts = [0] if regex.startswith("^") else range(len(text) + 1)
    for start in starts:
        end = next(ends(regex.removeprefix("^"), text, start), None)
        if end is not None:
            return text[start:end]
    return None


def ends(regex: str, text: str, at: int) -> Iterator[int]:
    """Where matches end that begin at `at`, in the order in which Wapiti tries them."""
    if not regex or regex == "$":
        if not regex or at == len(text):
            yield at
        return
    width = 2 if regex[0] == "\\" else 1
    here, repeat, rest = regex[:width], regex[width : width + 1], regex[width:]
    if repeat == "*":
        yield from ends(rest[1:], text, at)
        if at < len(text) and fits(here, text[at]):
            yield from ends(regex, text, at + 1)
    elif repeat == "?":
        if at < len(text) and fits(here, text[at]):
            yield from ends(rest[1:], text, at + 1)
        yield from ends(rest[1:], text, at)
    elif at < len(text) and fits(here, text[at]):
        yield from ends(rest, text, at + 1)


def fits(here: str, char: str) -> bool:
    if here == ".":
        return True
    if here[0] != "\\":
        return here == char
    known = CLASSES.get(here[1].lower())
    if known is None:
        return here[1] == char
    return (char.isascii() and known(char)) != here[1].isupper()
