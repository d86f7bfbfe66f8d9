"""Places in texts as editors count them."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from dcrfdsl.language_server.editor_text import UNITS, EditorText

TEXT = "a é\t𝔸b\r\nlabel ß\n\rz\u2028y\x0cx"
TEXTS = st.text(st.sampled_from("ab é𝔸\t\n\r\ufeff\u2028\x0c#"), max_size=40)


def lines_of(text: str) -> list[str]:
    """The lines as the protocol has them, by a slow twin: one character after the other."""
    lines, n = [""], 0
    while n < len(text):
        if text[n : n + 2] == "\r\n":
            lines.append("")
            n += 1
        elif text[n] in "\r\n":
            lines.append("")
        else:
            lines[-1] += text[n]
        n += 1
    return lines


@pytest.mark.parametrize(("encoding", "column"), [("utf-8", 9), ("utf-16", 6), ("utf-32", 5)])
def test_columns_count_units_of_the_encoding(encoding: str, column: int) -> None:
    text = EditorText(TEXT, encoding)
    place = TEXT.index("b")
    assert text.position(place) == (0, column)
    assert text.offset(0, column) == place


@pytest.mark.parametrize("encoding", UNITS)
@given(TEXTS)
def test_every_place_is_read_back(encoding: str, raw: str) -> None:
    text = EditorText(raw, encoding)
    lines = lines_of(raw)
    for offset in range(len(text.code) + 1):
        line, column = text.position(offset)
        assert 0 <= line < len(lines)
        if not (offset and text.code[offset - 1 : offset + 1] == "\r\n"):  # no place is inside a line end
            assert text.offset(line, column) == offset
            before = EditorText(raw[: offset + len(raw) - len(text.code)], encoding)
            assert column == UNITS[encoding](lines_of(before.text)[-1])


def test_a_column_inside_a_character_is_the_one_before() -> None:
    assert EditorText("𝔸b").offset(0, 1) == 0


def test_places_beyond_the_end_are_the_end() -> None:
    text = EditorText("ab\ncd")
    assert (text.offset(0, 99), text.offset(9, 0), text.offset(1, 99)) == (2, 5, 5)


def test_a_byte_order_mark_is_no_part_of_the_code() -> None:
    text = EditorText("\ufefflabel y")
    assert text.code == "label y"
    assert text.position(0) == (0, 1)
    assert text.offset(0, 7) == 6


def test_changes_one_after_the_other() -> None:
    text = EditorText("one\r\ntwo 𝔸\r\n")
    text = text.changed((1, 4), (1, 6), "é")
    text = text.changed((0, 0), (1, 0), "")
    assert text.text == "two é\r\n"
