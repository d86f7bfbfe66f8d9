"""What features are made with: functions of users, lexicons, arguments, stored strings; and every error of the room."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from feature_cases import call, corpus_of, has, learn, ref, resources, sentence, spec_of
from hypothesis import given, strategies as st

from dcrfdsl import load_text, syntax as model, to_text
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.features import FeatureExtractor, Lexicons, feature, load_feature_file, load_lexicons
from dcrfdsl.foundation import IncompatibleState
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.foundation.files.stored_arrays import pack_strings, unpack_strings
from dcrfdsl.semantics import ModelSpec
from dcrfdsl.semantics.schema.function_signatures import FUNCTIONS, bind
from dcrfdsl.syntax import nodes as ex

# functions of users -----------------------------------------------------------------------------------------------


def test_a_feature_file_gives_its_marked_functions(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from dcrfdsl.features import feature\n@feature\ndef ends(word, n): return word[-n:]\ndef other(): pass\n"
    )
    loaded = load_feature_file(file)
    assert list(loaded) == ["ends"]
    assert loaded["ends"]("abc", 2) == "bc"


FILES = {
    "raises": ("x = 1\nx / 0\n", "mine.py:2", "raises ZeroDivisionError"),
    "is no Python": ("def\n", "mine.py:1", "not Python"),
    "leaves": ("import sys\nsys.exit(0)\n", "mine.py:2", "raises SystemExit: 0"),
    "marks nothing": ("x = 1\n", "mine.py", "marks no feature function"),
    "takes a built-in name": (
        "from dcrfdsl.features import feature\n@feature\ndef lower(w): return w\n",
        "mine.py",
        "`lower` is a built-in",
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_a_bad_feature_file(case, tmp_path):
    text, where, message = FILES[case]
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(DcrfError, match=message) as caught:
        load_feature_file(tmp_path / "mine.py")
    assert where in str(caught.value)


@pytest.mark.parametrize(("name", "message"), [(".", "it is a folder"), ("/dev/zero", "it is no file")])
def test_a_device_or_folder_is_not_read_as_a_feature_file(name, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if not Path(name).exists():
        pytest.skip("another system has no such device")
    with pytest.raises(DcrfError, match=rf"{message}\n.*\n.*name a Python file"):
        load_feature_file(Path(name))


def test_a_model_needs_its_registered_functions():
    spec = spec_of(call("vowels", ref("word")))
    extractor, _ = learn(spec, [sentence("a b")])
    with pytest.raises(DcrfError, match=r"`vowels`.*\n.*--features"):
        FeatureExtractor.restore(spec, extractor.arrays(), extractor.metadata())


# errors -------------------------------------------------------------------------------------------------------------


def _raises(word):
    raise ValueError("no such word")


BAD = {
    "unknown function": (call("lowercase", ref("word")), "`lowercase` is no feature function"),
    "set as a map": (call("places", ref("word")), "`places` is a set"),
    "number as a text": (call("lower", ref("temp")), "`temp` is a number, and a text is needed"),
    "value as a test": (ex.And(parts=(ref("word"), ref("first"))), "`word` is a value, and a test is needed"),
    "several values compared": (ex.Equals(left=ref("tags"), right=ref("word")), "`tags` has several values"),
    "nothing read": (ref("wrod"), "`wrod` reads no column"),
    "bad regex": (has(ref("word"), "("), r"`/\(/` is no regular expression"),
    "bad argument": (call("prefix", ref("word"), 0), "must be a number from 1"),
    "no such column in the data": (ref("y"), "no column `y`"),
    "function raises": (call("raises", ref("word")), "`raises` raises ValueError on `a` .test.txt:1.: no such word"),
    "function gives nonsense": (call("nonsense", ref("word")), "`nonsense` returns"),
    "function gives this and that": (call("mixed", ref("word")), "`mixed` gives a"),
    "named position": (ex.Reference(name="word", place=ex.Named(position="i")), r"`\[i\]` is a position"),
    "group in itself": (ref("loop"), "`loop` contains itself"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_computed_is_an_error(case):
    bad, message = BAD[case]
    functions = {"raises": _raises, "nonsense": lambda word: {1: 2}, "mixed": lambda word: 1 if word == "a" else "b"}
    registered = {name: feature(name=name)(function) for name, function in functions.items()}
    loop = model.FeatureGroup(name="loop", features=(ref("loop", 1),))
    data = corpus_of([sentence("a b", tags=["p q", "r"])])
    with pytest.raises(DcrfError, match=message):
        FeatureExtractor.learn(spec_of(bad, groups=(loop,)), data, resources=resources(), registered=registered)


def test_a_number_that_is_none_is_an_error_with_its_line():
    with pytest.raises(DcrfError, match=r"column `temp` has the value `nan`[^\n]*\n *--> test.txt:2"):
        learn(spec_of(ref("temp")), [sentence("a b", temp=[1.0, float("nan")])])


def test_arrays_that_do_not_fit_the_template_are_refused():
    extractor, _ = learn(spec_of(ref("word")), [sentence("a b")])
    with pytest.raises(DcrfError, match="does not fit the template"):
        FeatureExtractor.restore(spec_of(ref("word"), ref("pos")), extractor.arrays(), extractor.metadata())
    cut = {**extractor.arrays(), "table_ids": extractor.arrays()["table_ids"][:1]}
    with pytest.raises(DcrfError, match="does not fit the template"):
        FeatureExtractor.restore(spec_of(ref("word")), cut, extractor.metadata())


LENGTHS = "a number from 1 to 1000 or a range of them, such as 1..4"
ARGUMENTS = {
    "right": (call("prefix", ref("word"), (1, 4)), []),
    "by name": (
        ex.Apply(
            function="prefix",
            arguments=(ex.Argument(value=ref("word")), ex.Argument(name="lengths", value=ex.Number(value=2))),
        ),
        [],
    ),
    "missing": (call("prefix", ref("word")), ["`prefix` needs its `lengths`"]),
    "too many": (call("lower", ref("word"), 1), ["`lower` takes 1 unnamed argument"]),
    "unknown name": (call("lower", ref("word"), fast="yes"), ["`lower` has no argument `fast`"]),
    "not a flag": (call("shape", ref("word"), short="maybe"), ["`short` of `shape` must be `yes` or `no`"]),
    "a descending range": (call("suffix", ref("word"), (3, 2)), [f"`lengths` of `suffix` must be {LENGTHS}"]),
    "not a pattern": (
        call("extract", ref("word"), 2),
        ["`pattern` of `extract` must be a regular expression between slashes, such as /[0-9]+/"],
    ),
    "a number as a column": (
        ex.Apply(function="lower", arguments=(ex.Argument(value=ex.Number(value=1)),)),
        ["`term` of `lower` must be a column, or a function of one"],
    ),
}


@pytest.mark.parametrize("case", ARGUMENTS)
def test_arguments(case):
    apply, messages = ARGUMENTS[case]
    _, problems = bind(FUNCTIONS[apply.function], apply.arguments, lambda value: value)
    assert [problem.message for problem in problems] == messages


# lexicons -----------------------------------------------------------------------------------------------------------


def lexicon_spec(path: str) -> ModelSpec:
    return ModelSpec(lexicons=(model.Lexicon(name="lex", path=path),))


READ = {
    "a set": ("a\n\nNew York\r\na\n", ("a", "New York"), None),
    "a map": ("a\tDT\nNew York\tNNP\na\tDT", ("a", "New York"), ("DT", "NNP")),
    "a mark at the start, and no comments": ("﻿# a\n", ("# a",), None),
}


@pytest.mark.parametrize("case", READ)
def test_lexicons(case, tmp_path):
    text, entries, values = READ[case]
    (tmp_path / "lex.txt").write_bytes(text.encode())
    lexicons = load_lexicons(lexicon_spec("lex.txt"), {"lex": tmp_path})
    found = lexicons.by_name["lex"]
    assert (found.entries, found.values) == (entries, values)
    restored = Lexicons.restore(lexicons.arrays(), json.loads(json.dumps(lexicons.metadata())))
    assert restored == lexicons


UNREADABLE = {
    "missing": (None, "cannot read lexicon `lex`", "lex.txt"),
    "not UTF-8": (b"a\n\xff\n", "not UTF-8: byte 0xff", "lex.txt:2"),
    "empty": (b"\n \n", "is empty", "lex.txt"),
    "sometimes a map": (b"a\tDT\nb\n", "`b`: the lines before have an entry, a TAB and its value", "lex.txt:2"),
    "two values": (b"a\tDT\na\tNN\n", "`a` has the value `DT` above and `NN` here", "lex.txt:2"),
    "three columns": (b"a\tDT\tNN\n", "expected an entry, a TAB and its value", "lex.txt:1"),
}


@pytest.mark.parametrize("case", UNREADABLE)
def test_unreadable_lexicons(case, tmp_path):
    data, message, where = UNREADABLE[case]
    if data is not None:
        (tmp_path / "lex.txt").write_bytes(data)
    with pytest.raises(DcrfError) as caught:
        load_lexicons(lexicon_spec("lex.txt"), {"lex": tmp_path})
    assert message in str(caught.value)
    assert str(caught.value).endswith(where)


@given(st.lists(st.text()))
def test_packed_strings(strings):
    assert unpack_strings(*pack_strings(strings)) == strings


# lexicons without case ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stored", [False, True], ids=["learned", "restored"])
def test_a_lexicon_that_ignores_case(stored, tmp_path):
    (tmp_path / "places.txt").write_text("New York\nStraße\nIzmir\n", encoding="utf-8")
    (tmp_path / "kinds.txt").write_text("a\tdet\nA\tdet\nStrasse\tway\n", encoding="utf-8")
    text = (
        'data conll(word, y)\nlabel y in {A, B}\nlexicon places = "places.txt" with case = ignore\n'
        'lexicon kinds = "kinds.txt" with case = ignore\nlexicon exact = "kinds.txt"\n'
        "clique y: word in places, kinds(word), span(word, places), exact(word), not word in kinds\n"
    )
    template = load_text(text, directory=tmp_path)
    spec = template.require()
    assert load_text(to_text(spec), directory=str(tmp_path)).spec == spec
    lexicons = load_lexicons(spec, template.directories)
    corpus = corpus_from_rows([[(word, "A") for word in ("NEW", "yOrK", "STRASSE", "straße", "A", "ı")]], spec.data)
    extractor, _ = FeatureExtractor.learn(spec, corpus, resources=lexicons)
    if stored:
        metadata = json.loads(json.dumps(extractor.metadata()))
        extractor = FeatureExtractor.restore(spec, extractor.arrays(), metadata)
    (rows,) = extractor.extract(corpus)
    found = [
        {extractor.describe(0, one) for one in rows.feature[a:b]}
        for a, b in zip(rows.row_off, rows.row_off[1:], strict=False)
    ]
    way = {"word in places", "kinds(word)=way", "span(word, places)=B"}
    assert found[:4] == [
        {"span(word, places)=B", "not word in kinds"}, {"span(word, places)=I", "not word in kinds"}, way, way,
    ]  # fmt: skip
    assert found[4:] == [{"kinds(word)=det", "exact(word)=det"}, {"not word in kinds"}]


def test_entries_that_differ_in_case_must_agree(tmp_path):
    (tmp_path / "kinds.txt").write_text("Reading\ttown\nreading\tverb\n", encoding="utf-8")
    lexicon = model.Lexicon(name="kinds", path="kinds.txt", case="ignore")
    with pytest.raises(DcrfError, match=r"`reading` has the value `town` above and `verb` here"):
        load_lexicons(ModelSpec(lexicons=(lexicon,)), {"kinds": tmp_path})


def test_a_stored_lexicon_must_ignore_case_as_the_template_says():
    spec = spec_of(ex.InLexicon(term=ref("word"), lexicon="places"))
    extractor, _ = learn(spec, [sentence("a b")])
    metadata = extractor.metadata()
    metadata["lexicons"] = [{**one, "ignores_case": True} for one in metadata["lexicons"]]
    with pytest.raises(IncompatibleState, match="whether case counts"):
        FeatureExtractor.restore(spec, extractor.arrays(), metadata)
