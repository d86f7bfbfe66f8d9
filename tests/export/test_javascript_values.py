"""Values in exported modules: characters, patterns and tokens are those of Python; bad input is one clear error."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
import re2
from export_cases import drawn
from javascript_programs import NODE, asked, needs_node
from test_patterns import CASES, CHARACTERS, re2_pattern
from test_programs import MODELS, trained

from dcrfdsl.data import corpus_from_rows, read_corpus, tokenize
from dcrfdsl.export import export_tagger
from dcrfdsl.export.javascript_files import PROGRAM, _folded, _program
from dcrfdsl.export.python_patterns import python_pattern
from dcrfdsl.features.values.text_functions import SHAPES, TEXT_FUNCTIONS
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.syntax import Regex
from dcrfdsl.training.pipeline import fit

pytestmark = needs_node
# Characters that Python knows and has assigned; Node may know newer ones.
EVERY = [chr(code) for code in range(0x20000) if unicodedata.category(chr(code)) not in ("Cn", "Cs")]


def evaluated(code: str, given: Any, folder: Path) -> Any:
    """What an expression gives, with the functions of the program and `given`."""
    program = f"{_program(PROGRAM)}\nconst MODEL = null;\n"
    program += 'import { readFileSync, writeFileSync } from "node:fs";\n'
    program += f'const given = JSON.parse(readFileSync(0, "utf-8"));\nwriteFileSync(1, JSON.stringify({code}));\n'
    (folder / "program.mjs").write_text(program, encoding="utf-8")
    done = subprocess.run([NODE, folder / "program.mjs"], input=json.dumps(given).encode(), capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


# characters and texts -------------------------------------------------------------------------------------------------


def test_every_character_is_what_python_takes_it_for(tmp_path: Path) -> None:
    """Its shape, its lower case and its case folding, and whether it is white space or part of a word."""
    code = "given[0].map((char) => [shapeOf(char), char.toLowerCase(), foldedBy(given[1])(char)])"
    found = evaluated(code, [EVERY, _folded()], tmp_path)
    different = [
        (char, *answer)
        for char, answer in zip(EVERY, found, strict=True)
        if answer != [SHAPES[ord(char)], char.lower(), char.casefold()]
    ]
    assert not different


def test_texts_are_cut_by_characters(tmp_path: Path) -> None:
    texts = ["", "a", "ΑΣ", "ΑΣΑ Σ", "İİ", "x😀y", "😀", "é\u0301", "straße", "ǅ", "𝔘𝔫", "1²³", "a b  c"]
    code = (
        "given.map((text) => [FUNCTIONS.lower()(text), FUNCTIONS.prefix([1, 2])(text), FUNCTIONS.suffix([1, 3])(text), "
        "FUNCTIONS.chars([2])(text), FUNCTIONS.exact_length()(text), FUNCTIONS.part([1, 2])(text)])"
    )
    functions = TEXT_FUNCTIONS
    for text, found in zip(texts, evaluated(code, texts, tmp_path), strict=True):
        wanted = [functions["lower"]()(text), functions["prefix"]([1, 2])(text), functions["suffix"]([1, 3])(text)]
        wanted += [functions["chars"]([2])(text), (str(len(text)),), functions["part"]([1, 2])(text)]
        assert found == [list(one) for one in wanted]


def test_tokens_of_running_texts(tmp_path: Path) -> None:
    draw = random.Random(3)
    signs = [
        *"ab1_ .,-'\n",
        "é",
        "e\u0301",
        "\u0301",
        "😀",
        "\u200d",
        "日",
        "\u0e33",
        "\x1c",
        "\x85",
        "\ufeff",
        "\u00a0",
        "½",
    ]
    texts = ["".join(draw.choices(signs, k=12)) for _ in range(300)] + EVERY
    code = (
        "given.map((text) => Object.values(TOKENIZERS).map((one) => [...text.matchAll(one)].map((match) => match[0])))"
    )
    for text, found in zip(texts, evaluated(code, texts, tmp_path), strict=True):
        names = ("words", "whitespace", "characters")
        wanted = [[text[start:end] for start, end in tokenize(text, name)] for name in names]
        assert found == wanted, ascii(text)


# patterns -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ignore_case", [False, True])
def test_patterns_match_the_same_texts(ignore_case: bool, tmp_path: Path) -> None:
    draw = random.Random(5)
    texts = ["".join(draw.choices(CHARACTERS, k=draw.randrange(6))) for _ in range(400)]
    regexes = [Regex(pattern=pattern, ignore_case=ignore_case) for pattern in CASES]
    patterns = [python_pattern(regex) for regex in regexes]
    code = (
        "given[0].map((pattern) => [true, false].map((whole) => regexOf(pattern, whole)))"
        ".map((pair) => given[1].map((text) => pair.map((regex) => regex.test(text))))"
    )
    for regex, answers in zip(regexes, evaluated(code, [patterns, texts], tmp_path), strict=True):
        theirs = re2_pattern(regex)
        for text, found in zip(texts, answers, strict=True):
            wanted = [getattr(theirs, way)(text.encode()) is not None for way in ("fullmatch", "search")]
            assert found == wanted, (regex.pattern, text)


@pytest.mark.parametrize("pattern", [r"a+?b?", r"(?U)a+", r"(?U)a+?", "a{1,2}?", "(a|ab)(c|bcd)?", "x*?"])
def test_what_is_extracted_is_the_same(pattern: str, tmp_path: Path) -> None:
    """How greedy a repetition is decides what is found, here and in the program of Python."""
    texts = ["aab", "aaa", "abcd", "xxa", "b", ""]
    ours = python_pattern(Regex(pattern=pattern))
    found = evaluated("given[1].map((text) => FUNCTIONS.extract(given[0])(text))", [ours, texts], tmp_path)
    for text, answer in zip(texts, found, strict=True):
        match, python = re2.compile(pattern).search(text), re.search(ours, text)
        wanted = None if match is None else match[0]
        assert (python[0] if python else None) == wanted == (answer[0] if answer else None)


# bad input, and edges -------------------------------------------------------------------------------------------------


def test_bad_input_is_one_error(tmp_path: Path) -> None:
    case = drawn(0, tmp_path)
    export_tagger(case.model, tmp_path / "m.mjs")
    good = case.sentences[1]
    bad = [
        ({**good, "word": ["\ud800", "a"]}, "half a surrogate pair"),
        ({**good, "word": [1, 2]}, "found `1`, expected a text"),
        ({**good, "word": ["a"]}, "columns of unequal length: `word` has 1"),
        ({"word": ["a"]}, "a sentence lacks `pos`"),
        ({**good, "temp": [None, 1]}, "found `null`, expected a finite number"),
        ({**good, "temp": ["1e999", "nan"]}, "expected a finite number"),
        ({**good, "temp": ["0x10", 1]}, "expected a finite number"),
        ({**good, "pixels": [[1], [2]]}, "expected 2 numbers"),
        ({**good, "attrs": [3, 4]}, "expected names, or names with weights"),
        ({**good, "word": "ab"}, "expected a list"),
        (3, "expected a sentence"), (None, "expected a sentence"), ("ab", "expected a sentence"),
        ([["a"]], "found a token of 1 values"), ([["a"], 3], "expected a token"), ([{"constructor": 1}], "lacks"),
    ]  # fmt: skip
    answers = asked(
        [(tmp_path / "m.mjs", [[method, one] for one, _ in bad for method in ("tag", "marginals", "best")])]
    )
    for n, answer in enumerate(answers):
        assert bad[n // 3][1] in answer["error"] and "no TaggerError" not in answer["error"], (bad[n // 3], answer)
    known = [["A"], {"y": "A"}, {"y": ["A", "nothing"]}, 3]
    says = ["1 known values of `y` for 2 tokens", "expected a list", "which the model does not know", "expected known"]
    for answer, words in zip(asked([(tmp_path / "m.mjs", [["tag", good, one] for one in known])]), says, strict=True):
        assert words in answer["error"] and "no TaggerError" not in answer["error"]


def test_all_forms_of_a_sentence_and_known_labels(tmp_path: Path) -> None:
    model = trained(MODELS["factorial"])
    export_tagger(model, tmp_path / "m.mjs")
    rows, columns = [["a", "N"], ["b", "V"]], {"word": ["a", "b"], "pos": ["N", "V"]}
    tokens = [{"word": "a", "pos": "N"}, {"word": "b", "pos": "V"}]
    known = {"y": [None, "A"]}
    calls = [["tag", one] for one in (rows, columns, tokens)] + [["tag", rows, known], ["best", rows], ["tag", []]]
    first, second, third, given, best, nothing = (one["answer"] for one in asked([(tmp_path / "m.mjs", calls)]))
    assert first == second == third == model.tag(columns)
    assert given == model.tag(columns, given=known) and given["y"][1] == "A"
    (one,) = model.nbest(columns, 1)
    assert best["probability"] == pytest.approx(one.probability, abs=1e-12) and best["labels"] == first
    assert nothing == {"y": [], "z": []}


def test_a_sentence_without_any_labelling_and_a_long_one(tmp_path: Path) -> None:
    text = "data conll(word, y)\nlabel y\nclique y: word\nclique y[-1], y\nforbid word is x and y is A\n"
    spec = load_text(f"{text}forbid word is x and y is B").require()
    model = fit(spec, corpus_from_rows([[{"word": "a", "y": "A"}, {"word": "b", "y": "B"}]], spec.data), threads=1)
    export_tagger(model, tmp_path / "m.mjs")
    long = ["a", "b", "c"] * 40_000
    calls = [["tag", ["a", "x"]], ["tagged", ["x"]], ["marginals", ["a", "x"]], ["tag", long], ["marginals", long]]
    refused, none, nowhere, labels, table = asked([(tmp_path / "m.mjs", calls)])
    assert refused["error"] == "no labelling is possible for the sentence"
    assert none["answer"] is None and nowhere["answer"]["y"] == [[None, None]] * 2
    assert labels["answer"] == model.tag(long)
    wanted = model.tag_all([long])
    assert labels["answer"] == wanted[0] and abs(sum(table["answer"]["y"][-1]) - 1) < 1e-9


# texts to spans -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["bio", "bioes", "iob1"])
def test_spans_of_a_text_and_their_probabilities(scheme: str, tmp_path: Path) -> None:
    text = (
        f"data spans(word = token, ner = spans)\nlabel ner in {scheme}(P, Q)\nclique ner: word\nclique ner[-1], ner\n"
    )
    resolved = load_text(f"{text}train likelihood: optimizer = lbfgs(max_iterations = 3)")
    lines = [
        {"text": "Ann met 😀 Bob Lee.", "label": [[0, 3, "P"], [10, 17, "Q"]]},
        {"text": "Bob saw Lee Ann", "label": [[0, 3, "P"], [8, 11, "P"], [12, 15, "P"]]},
    ]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    model = fit(resolved, read_corpus(tmp_path / "data.jsonl", resolved.require().data), threads=1)
    export_tagger(model, tmp_path / "m.mjs")
    texts = ["Ann met 😀 Bob Lee.", "😀😀 Bob Ann Lee", "Lee", "", " \n"]
    for given, answer in zip(texts, asked([(tmp_path / "m.mjs", [["annotate", one] for one in texts])]), strict=True):
        units = given.encode("utf-16-le")
        wanted = model.annotate(given)
        assert [(one["type"], one["text"], one["label"]) for one in answer["answer"]] == [
            (one.type, one.text, one.label) for one in wanted
        ]
        for found, one in zip(answer["answer"], wanted, strict=True):
            assert found["probability"] == pytest.approx(one.probability, abs=1e-9)
            assert units[2 * found["start"] : 2 * found["end"]].decode("utf-16-le") == one.text


# the command ----------------------------------------------------------------------------------------------------------

INPUTS = {
    "conll": "a N\nb V\n\nc D\nunseen N\na V\n\nb\tN\n",
    "windows": "\ufeffa N\r\nb V\r\n\r\nc D\r\n",
    "no end": "a N\nb V",
    "blank lines": "\n\n  \na N\n \t\nb V\n\n\n",
    "labels are there": "a N A\nb V B\n\nc D A\n",
    "nothing": "",
}


@pytest.mark.parametrize("name", INPUTS)
def test_node_prints_what_the_program_of_python_prints(name: str, tmp_path: Path) -> None:
    model = trained(MODELS["second_order"])
    export_tagger(model, tmp_path / "t.py")
    export_tagger(model, tmp_path / "t.mjs")
    (tmp_path / "text.txt").write_bytes(INPUTS[name].encode())
    for options in ([], ["--marginals"], *([["--given"]] if name == "labels are there" else [])):
        python = subprocess.run(
            [sys.executable, tmp_path / "t.py", *options, tmp_path / "text.txt"], capture_output=True
        )
        for stdin in (False, True):
            given = [NODE, tmp_path / "t.mjs", *options, *([] if stdin else [tmp_path / "text.txt"])]
            node = subprocess.run(given, capture_output=True, input=INPUTS[name].encode() if stdin else b"")
            assert (node.returncode, node.stdout, node.stderr) == (0, python.stdout, b"")


def test_node_reads_and_writes_json(tmp_path: Path) -> None:
    export_tagger(trained(MODELS["factorial"], "jsonl"), tmp_path / "t.py")
    export_tagger(trained(MODELS["factorial"], "jsonl"), tmp_path / "t.mjs")
    text = '{"word": ["a", "é"], "pos": ["N", "V"], "other": 12}\n\n{"word": [], "pos": []}\n[["a", "N"], ["b", "V"]]\n'
    for options in ([], ["--json"], ["--json", "--marginals"]):
        out = [
            subprocess.run([*one, *options], input=text.encode(), capture_output=True).stdout
            for one in ([sys.executable, tmp_path / "t.py"], [NODE, tmp_path / "t.mjs"])
        ]
        lines = [[json.loads(line) if line else None for line in one.decode().split("\n")] for one in out]
        for python, node in zip(*lines, strict=True):
            if "--marginals" not in options:
                assert python == node
            elif python is not None:
                assert python["labels"] == node["labels"]
                for label, rows in python["marginals"].items():
                    for row, other in zip(rows, node["marginals"][label], strict=True):
                        assert row == pytest.approx(other, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "says"),
    [("a N\nb\n", "text.txt:2: 1 column, expected 2 (`word pos`)"), ("a N\nb\0 V\n", "text.txt:2: byte 0x00")],
)
def test_node_says_what_is_wrong(text: str, says: str, tmp_path: Path) -> None:
    export_tagger(trained(MODELS["chain"]), tmp_path / "t.mjs")
    (tmp_path / "text.txt").write_text(text)
    done = subprocess.run([NODE, "t.mjs", "text.txt"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.startswith(f"error: {says}") and done.stderr.count("\n") == 1
    done = subprocess.run([NODE, "t.mjs", "--nothing"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2 and "there is no option `--nothing`" in done.stderr


def test_what_a_module_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DcrfError, match=r"nor `\.mjs` or `\.html`"):
        export_tagger(trained(MODELS["chain"]), tmp_path / "tagger.js")
