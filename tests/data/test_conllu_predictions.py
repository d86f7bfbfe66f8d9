"""Predictions in CoNLL-U stand where their labels came from; everything else stays as it was."""

from __future__ import annotations

import io
from typing import Any

import pytest
from helpers import shared
from hypothesis import given, strategies as st

from dcrfdsl.data import Chunk, InternedColumn, TaggedOutput, stream_corpus, tagged, with_predictions_apart
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.semantics import load_text
from dcrfdsl.syntax import DataSpec
from dcrfdsl.syntax.nodes import Argument, Text


def data_of(statement: str) -> DataSpec:
    data = load_text(f"data {statement}\n").spec.data
    assert data is not None
    return data


def line(
    id: str, upos: str = "X", feats: str = "_", misc: str = "_", head: str = "0", xpos: str = "_", end: str = "\n"
) -> str:
    return "\t".join((id, "w", "l", upos, xpos, feats, head, "root", "_", misc)) + end


def written(text: str, data: DataSpec, predictions: dict[str, Any], remarks: dict[str, Any] | None = None) -> str:
    first, *rest = stream_corpus(io.BytesIO(text.encode()), data)
    return b"".join([tagged(first, predictions, remarks), *(tagged(chunk, {}) for chunk in rest)]).decode()


PLACES: dict[str, tuple[str, str, dict[str, list[str]], str]] = {
    # name: (data, line of a file, predictions, the same line tagged)
    "column": ("conllu(upos)", line("1"), {"upos": ["NOUN"]}, line("1", "NOUN")),
    "column by another name": ("conllu(pos = upos)", line("1"), {"pos": ["NOUN"]}, line("1", "NOUN")),
    "two columns": (
        "conllu(upos, h = head)", line("1"), {"upos": ["A"], "h": ["7"]}, line("1", "A", head="7"),
    ),
    "new key": ('conllu(c = feats("Case"))', line("1"), {"c": ["Nom"]}, line("1", feats="Case=Nom")),
    "key in its order": (
        'conllu(c = feats("gender"))', line("1", feats="Case=Nom|Number=Sing"), {"c": ["F"]},
        line("1", feats="Case=Nom|gender=F|Number=Sing"),
    ),
    "key in its place": (
        'conllu(c = feats("Number"))', line("1", feats="Number=Sing|Case=Nom"), {"c": ["Plur"]},
        line("1", feats="Number=Plur|Case=Nom"),
    ),
    "key that comes twice": (
        'conllu(c = feats("A"))', line("1", feats="A=1|B=2|A=3"), {"c": ["4"]}, line("1", feats="A=4|B=2"),
    ),
    "key removed": ('conllu(c = feats("A"))', line("1", feats="A=1|B=2"), {"c": ["_"]}, line("1", feats="B=2")),
    "last key removed": ('conllu(c = feats("A"))', line("1", feats="A=1"), {"c": ["_"]}, line("1")),
    "two keys": (
        'conllu(c = feats("B"), d = feats("A"))', line("1"), {"c": ["1"], "d": ["2"]}, line("1", feats="A=2|B=1"),
    ),
    "all of FEATS": ("conllu(f = feats)", line("1", feats="A=1"), {"f": ["B=2"]}, line("1", feats="B=2")),
    "key of MISC": (
        'conllu(n = misc("ner"))', line("1", misc="SpaceAfter=No|ner=O"), {"n": ["B|X"]},
        line("1", misc=r"SpaceAfter=No|ner=B\pX"),
    ),
    "key of MISC without a value": (
        'conllu(n = misc("ner"))', line("1", misc="ner|nerd|Z=1|ner=X"), {"n": ["O"]}, line("1", misc="ner=O|nerd|Z=1"),
    ),
    "no key of MISC": ('conllu(g = misc("Gloss"))', line("1"), {"g": ["_"]}, line("1")),
    "key of MISC removed": (
        'conllu(g = misc("Gloss"))', line("1", misc="A=1|Gloss=x|B=2"), {"g": ["_"]}, line("1", misc="A=1|B=2"),
    ),
    "last key of MISC removed": ('conllu(g = misc("Gloss"))', line("1", misc="Gloss=x"), {"g": ["_"]}, line("1")),
    "key of MISC in its place": (
        'conllu(g = misc("Gloss"))', line("1", misc="Z=1|Gloss=x|B=2"), {"g": ["y"]},
        line("1", misc="Z=1|Gloss=y|B=2"),
    ),
    "the value as it is written": (  # `\\q` and `q` are read alike
        'conllu(g = misc("G"))', line("1", misc=r"G=\q|A=1|G=2"), {"g": ["q"]}, line("1", misc=r"G=\q|A=1|G=2"),
    ),
    "an earlier prediction removed": ("conllu(upos)", line("1", misc="y=A|Z=1"), {"y": ["_"]}, line("1", misc="Z=1")),
    "joined columns": (
        'conllu(t = joined("xpos upos feats"))', line("1", misc="Z=1"), {"t": ["NN NOUN Number=Sing|Case=Nom"]},
        line("1", "NOUN", "Number=Sing|Case=Nom", "Z=1", xpos="NN"),
    ),
    "joined columns without a labelling": (
        'conllu(t = joined("xpos upos"))', line("1", "X", xpos="Y"), {"t": ["_"]}, line("1", "_", xpos="_"),
    ),
    "no column": ("conllu(upos)", line("1", misc="y=1"), {"y": ["A"]}, line("1", misc="y=A")),
    "an id is kept": ("conllu(n = id)", line("1"), {"n": ["9"]}, line("1", misc="n=9")),
    "apart": (
        'conllu(upos, c = feats("A"), predictions = "misc")', line("1", "N", "A=1", "upos=X|Z=1"),
        {"upos": ["V"], "c": ["2"]}, line("1", "N", "A=1", "upos=V|Z=1|c=2"),
    ),
    "no text": ("conllu(upos)", line("1"), {"upos": [""]}, line("1", "_")),
    "windows": ("conllu(upos)", line("1", end="\r\n"), {"upos": ["V"]}, line("1", "V", end="\r\n")),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_a_prediction_stands_where_its_label_came_from(name: str) -> None:
    data, text, predictions, expected = PLACES[name]
    assert written(text, data_of(data), predictions) == expected


def test_other_lines_are_kept() -> None:
    text = (
        "# sent_id = 1\n# text = vámonos\n" + line("1-2", "_") + line("1") + line("1.1", "_") + line("2")
        + "\n# newdoc\n" + line("0.1", "_") + line("1") + "\n# at the end"
    )  # fmt: skip
    tagged_text = written(text, data_of("conllu(upos)"), {"upos": ["A", "B", "C"]}, {"rank": [1, 2]})
    expected = (
        "# sent_id = 1\n# text = vámonos\n# rank = 1\n" + line("1-2", "_") + line("1", "A") + line("1.1", "_")
        + line("2", "B") + "\n# newdoc\n# rank = 2\n" + line("0.1", "_") + line("1", "C") + "\n# at the end"
    )  # fmt: skip
    assert tagged_text == expected


cells = st.text(st.sampled_from("aB|=_\\é "), min_size=1, max_size=4).filter(str.strip)
feats = st.dictionaries(st.sampled_from(["Case", "a", "Number", "B"]), st.sampled_from(["x", "y", "1,2"])).map(
    lambda pairs: "|".join(f"{key}={value}" for key, value in pairs.items()) or "_"
)
STATEMENT = 'conllu(upos, xpos, case = feats("Case"), b = feats("B"), ner = misc("ner"))'


@pytest.mark.long
@given(st.lists(st.tuples(feats, cells, cells, st.sampled_from(["_", "x", "y"]), cells), min_size=1, max_size=4))
def test_what_is_written_is_read_again(tokens: list[tuple[str, str, str, str, str]]) -> None:
    """And nothing else changes: writing what was read first gives the text back."""
    text = "".join(line(str(n), feats=token[0]) for n, token in enumerate(tokens, 1))
    data = data_of(STATEMENT)
    names = ("upos", "xpos", "case", "ner")
    predictions = {name: [token[n] for token in tokens] for n, name in enumerate(names, 1)}
    (first,) = stream_corpus(io.BytesIO(text.encode()), data)
    out = tagged(first, predictions)
    (again,) = stream_corpus(io.BytesIO(out), data)
    for name in names:
        column = again.corpus.text_column(name)
        assert [column.text(n) for n in range(len(tokens))] == predictions[name]
    b = again.corpus.text_column("b"), first.corpus.text_column("b")
    assert [b[0].text(n) for n in range(len(tokens))] == [b[1].text(n) for n in range(len(tokens))]
    read = {name: [again.corpus.text_column(name).text(n) for n in range(len(tokens))] for name in names}
    assert tagged(again, read) == out


@pytest.mark.parametrize("statement", [STATEMENT, 'conllu(s = misc("SpaceAfter"), f = feats, g = misc("Gloss"))'])
def test_gold_in_the_place_of_predictions_changes_no_byte(statement: str) -> None:
    """Of a treebank, in which keys of MISC stand in any order and most tokens lack them."""
    text = shared("data", "ud_english_ewt", "en_ewt-ud-dev.conllu").read_bytes()
    for chunk in stream_corpus(io.BytesIO(text), data_of(statement)):
        gold = {name: [column.values[code] for code in column.codes] for name, column in texts_of(chunk).items()}
        assert tagged(chunk, gold) == chunk.block.text


def texts_of(chunk: Chunk) -> dict[str, InternedColumn]:
    return {name: chunk.corpus.text_column(name) for name in chunk.corpus.columns}


def test_a_key_of_misc_is_read_without_its_escapes() -> None:
    text = line("1", misc=r"ner=a\p\\\t|x=1") + line("2", misc="ner")
    (chunk,) = stream_corpus(io.BytesIO(text.encode()), data_of('conllu(n = misc("ner"))'))
    assert [chunk.corpus.text_column("n").text(n) for n in range(2)] == ["a|\\\t", ""]


def test_predictions_go_apart_when_asked() -> None:
    data = with_predictions_apart(data_of("conllu(upos)"))
    assert data.options == (Argument(name="predictions", value=Text(value="misc")),)
    with pytest.raises(DcrfError) as caught:
        with_predictions_apart(data_of("conll(word)"))
    assert caught.value.diagnostics[0].slug == "idle-apart"


def test_one_output_takes_many_chunks() -> None:
    data = data_of("conllu(upos)")
    text = "\ufeff" + line("1") + "\n" + line("1")
    output = TaggedOutput(data)
    chunks = stream_corpus(io.BytesIO(text.encode()), data, tokens_per_chunk=1)
    written = b"".join(output.write(chunk, {"upos": ["V"]}) for chunk in chunks) + output.close()
    assert written.decode() == "\ufeff" + line("1", "V") + "\n" + line("1", "V")
