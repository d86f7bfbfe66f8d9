"""The checker: every rule by its bad example, no complaint about what is right, never two about one mistake.

`language/bad/<topic>/*.dcrf` are the bad examples, one transcript a topic; `language/good` are what must pass.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import EXAMPLES, LANGUAGE
from hypothesis import given, settings, strategies as st
from pydantic import ValidationError
from slugs import slugs_of

from dcrfdsl.data import DataFormat, data_format, read_corpus
from dcrfdsl.foundation.errors.diagnostics import DcrfError, render, render_all
from dcrfdsl.metrics import METRICS as COMPUTED
from dcrfdsl.semantics.checks.checker import check, check_or_raise
from dcrfdsl.semantics.checks.data_formats import FORMATS
from dcrfdsl.semantics.checks.training_rules import METRICS
from dcrfdsl.semantics.reference.message_pages import EXPLANATIONS
from dcrfdsl.semantics.resolve.resolution import Resolved, load_template, load_text
from dcrfdsl.semantics.schema.model_spec import ModelSpec
from dcrfdsl.syntax import NOWHERE, field_names, relocated

BAD = (
    "labels",
    "names", "settings", "graph", "hidden", "constraints", "pieces", "training", "data", "numbers", "given", "shortest",
)  # fmt: skip
GOOD = ("chains", "examples", "features", "constraints", "graph", "hidden", "relations", "pieces", "training")
REGISTERED = ("soundex",)


def resolved_file(path: Path) -> Resolved:
    """Read beside the file, so that messages name it the same way everywhere."""
    with contextlib.chdir(path.parent):
        return load_template(path.name)


def complaints(text: str, **options: Any) -> list[str]:
    """The slugs of a template's complaints, in order."""
    return [diagnostic.slug for diagnostic in check(load_text(text, "a.dcrf"), **options)]


# transcripts ----------------------------------------------------------------------------------------------------


def transcript(folder: Path) -> str:
    parts = []
    for path in sorted(folder.glob("*.dcrf")):
        with contextlib.chdir(folder):
            found = check(load_template(path.name), registered=REGISTERED)
        parts.append(f"=== {path.name}\n{render_all(found) or 'nothing to complain about'}\n")
    return "\n".join(parts)


@pytest.mark.parametrize("topic", BAD)
def test_bad_examples_give_these_messages(topic: str, golden: Callable[[Path, str], None]) -> None:
    folder = LANGUAGE / "bad" / topic
    golden(folder / "expected.txt", transcript(folder))


def test_data_that_lacks_what_is_declared_gives_these_messages(golden: Callable[[Path, str], None]) -> None:
    """The first line of each template names its data, beside it."""
    folder, parts = LANGUAGE / "bad" / "occurrences", []
    for path in sorted(folder.glob("*.dcrf")):
        with contextlib.chdir(folder):
            resolved = load_template(path.name)
            assert resolved.spec.data is not None
            first, _, _ = path.read_text(encoding="utf-8").partition("\n")
            found = check(resolved, corpus=read_corpus(first.removeprefix("# data: "), resolved.spec.data))
        parts.append(f"=== {path.name}\n{render_all(found) or 'nothing to complain about'}\n")
    golden(folder / "expected.txt", "\n".join(parts))


@pytest.mark.parametrize("topic", GOOD)
def test_good_examples_give_no_message(topic: str, golden: Callable[[Path, str], None]) -> None:
    folder = LANGUAGE / "good" / topic
    golden(folder / "expected.txt", transcript(folder))
    assert "error[" not in transcript(folder)


def test_every_page_says_what_a_message_means_and_what_to_do() -> None:
    for slug, page in EXPLANATIONS.items():
        assert all(len(words) > 10 and "\n" not in words for words in (page.meaning, page.remedy)), slug


# Slugs without a bad example: what only a data set can show, and what is wrong outside a template.
SHOWN_ELSEWHERE = {"missing-column", "missing-label", "column-type", "piece-without-instance", "bad-override",
                   "idle-override", "no-text", "nothing-to-tune", "use-too-deep", "not-judged", "unseen-state",
                   "unscaled-number", "bad-specification", "bad-name", "bad-event", "numbers-as-texts",
                   "empty-file"}  # fmt: skip


@pytest.mark.long
def test_every_rule_has_a_bad_example() -> None:
    shown = "".join((LANGUAGE / "bad" / topic / "expected.txt").read_text(encoding="utf-8") for topic in BAD)
    slugs = set(re.findall(r"^(?:error|warning|note)\[([a-z-]+)\]", shown, re.MULTILINE))
    assert slugs_of("semantics") - slugs - SHOWN_ELSEWHERE == set()


@pytest.mark.long
def test_messages_are_lower_case_and_quote_with_backquotes() -> None:
    for topic in BAD:
        for path in (LANGUAGE / "bad" / topic).glob("*.dcrf"):
            for diagnostic in check(resolved_file(path)):
                first = diagnostic.message[0]
                assert first in "`" or first.islower() or first.isdigit(), diagnostic.message
                assert not diagnostic.message.endswith("."), diagnostic.message


# the mistakes of one file -----------------------------------------------------------------------------------------


def test_all_mistakes_of_a_file_are_shown_at_once() -> None:
    """Five different mistakes, two of them syntax, in the order of the text, and nothing else."""
    found = check(resolved_file(LANGUAGE / "bad" / "names" / "five_mistakes.dcrf"))
    assert [(d.slug, d.primary.span.line) for d in found if d.primary] == [
        ("window-dots", 4),
        ("unexpected-block", 6),
        ("unknown-name", 7),
        ("same-site-twice", 9),
        ("unknown-setting", 10),
    ]


HEAD = "data conll(word, pos, chunk)\nlabel chunk in bio(NP)\n"

# A template with one mistake, and the one complaint that it deserves.
ONE_MISTAKE = {
    "a misspelt column, used everywhere": (
        "data conll(word, chunk)\nlabel chunk\nfeatures f: wrod, lower(wrod), wrod is a\nclique chunk: f, wrod\n",
        "unknown-name",
    ),
    "a group that cannot be read is not unknown": (
        HEAD + "features f: word pos\nclique chunk: f, bias\n",
        "missing-comma",
    ),
    "a label that cannot be read is neither unknown nor missing": (
        "data conll(word, chunk)\nlabel chunk in bio(NP\nclique chunk: word\nevaluate accuracy(chunk)\n",
        "unclosed-bracket",
    ),
    "columns that cannot be read are not unknown": (
        "data conll(word chunk)\nlabel chunk\nclique chunk: word, lower(word)\n",
        "missing-comma",
    ),
    "a clique that cannot be read may have been the label's": (
        HEAD + "clique chunk: word pos\n",
        "missing-comma",
    ),
    "a clique that cannot be read may have been the constraint's": (
        HEAD + "clique chunk: word\nclique chunk[-1] chunk\nforbid chunk[-1] is O and chunk is B-NP\n",
        "missing-comma",
    ),
    "a stage that cannot be read is not unknown": (
        HEAD + "clique chunk: word\ntrain likelihood as one seed = 1\ntrain likelihood as two after one\n",
        "missing-colon",
    ),
    "a latent in a constraint on a state that it has not": (
        HEAD + "latent z in 2\nclique chunk: word\nclique z, chunk: word\nforbid z is 2 and chunk is O\n",
        "unknown-state",
    ),
    "states that go round in a circle": (
        HEAD
        + "latent z in states(u)\nlatent u in states(z)\nmemory m in states(u) = u[-1]\nclique chunk, z, u, m: word\n",
        "states-cycle",
    ),
    "a memory of another's unknown states": (
        HEAD + "memory m in states(chonk) = chunk[-1]\nmemory n in states(m) = m[-1]\nclique chunk, m, n: word\n",
        "unknown-name",
    ),
    "a memory that reads the present": (
        HEAD + "memory m in states(chunk) = chunk if chunk[-1] is O else m[-1] initially O\nclique chunk, m: word\n",
        "memory-future",
    ),
    "a memory of a misspelt state": (
        HEAD + "memory m in {A, B} = C if chunk[-1] is O else m[-1] initially A\nclique chunk, m: word\n",
        "unknown-state",
    ),
    "a memory of a regex that is none": (
        HEAD + "memory m = chunk[-1] matches /(/\nclique chunk, m: word\n",
        "bad-regex",
    ),
    "a latent variable that only another one knows": (
        HEAD + "latent z in 2\nlatent u in 2\nclique chunk: word\nclique z, chunk\nforbid u is 1 and u[-1] is 1\n",
        "idle-latent",
    ),
    "a clique with a name that is taken": (HEAD + "clique chunk as chunk: word\n", "declared-twice"),
    "a constraint on a state that there is not": (
        HEAD + "clique chunk: word\nforbid chunk is I-VP\n",
        "unknown-state",
    ),
    "named positions without a where": (
        HEAD + "clique chunk: word\nclique chunk[i], chunk[j]: bias, word[i] & word[j]\n",
        "place-without-where",
    ),
    "three joined positions": (
        HEAD + "clique chunk: word\nclique chunk[i], chunk[j], chunk[k] where word[i] = word[j]\n",
        "two-positions",
    ),
    "a site at neither joined position": (
        HEAD + "clique chunk: word\nclique chunk[i], chunk[j], chunk where word[i] = word[j]\n",
        "two-positions",
    ),
    "a feature at neither joined position": (
        HEAD + "clique chunk: word\nclique chunk[i], chunk[j] where word[i] = word[j]: word\n",
        "place-in-relation",
    ),
    "a condition at neither joined position": (
        HEAD + "clique chunk: word\nclique chunk[i], chunk[j] where word[i] = word[j] and lower(word)[-1] is a\n",
        "place-in-relation",
    ),
    "a position inside and outside": (
        HEAD + "clique chunk: word\nclique chunk[i], chunk[j] where word[i] = word[j]: lower(word[i])[j]\n",
        "two-places",
    ),
    "gaps that exclude each other": (
        HEAD + "clique chunk: word\nclique chunk[i], chunk[j] where word[i] = word[j] with min_gap = 5, max_gap = 2\n",
        "empty-gap",
    ),
    "one constant, two settings": (
        HEAD + "let v = gaussian(variance = 0)\nclique chunk: word\ntrain likelihood: prior = v\n",
        "bad-setting",
    ),
}


@pytest.mark.parametrize("case", ONE_MISTAKE)
def test_one_mistake_is_one_complaint(case: str) -> None:
    text, slug = ONE_MISTAKE[case]
    assert complaints(text) == [slug]


# What looks odd and is right.
RIGHT = {
    "a state that is no name of anything": HEAD + "clique chunk: word\nforbid chunk = O\n",
    "a group in a cross": HEAD + "features f: word, pos\nclique chunk: f[-1] & f, bias & f\n",
    "columns with names of functions": "data conll(first, last, tag)\nlabel tag\nclique tag: first, last\n",
    "stages that do not run": HEAD + "clique chunk: word\ntrain mce as m: prior = nonsense\ntrain likelihood\n",
    "a label that only a memory of a memory reads": (
        HEAD + "label pos in {N, V}\nmemory m = pos[-1] is V\nmemory n = m[-1]\nclique chunk, n: word\n"
    ),
    "a memory that only a constraint reads": (
        HEAD + "memory m = m[-1] or chunk[-1] is O\nclique chunk: word\nforbid chunk is B-NP and m and word is the\n"
    ),
    "a memory that is named like a function": (
        HEAD
        + "memory last in states(chunk) = last[-1] if chunk[-1] is O else chunk[-1] initially O\n"
        + "clique chunk, last: word\n"
    ),
    "a latent variable that only constraints tie to a label": (
        HEAD + "latent z in 2\nclique chunk: word\nrequire z is 1 when chunk is O\n"
    ),
    "no stage at all": HEAD + "clique chunk: word\n",
}


@pytest.mark.parametrize("case", RIGHT)
def test_what_is_right_gets_no_complaint(case: str) -> None:
    assert complaints(RIGHT[case]) == []


def test_complaints_come_in_the_order_of_the_text() -> None:
    text = (LANGUAGE / "bad" / "training" / "unknown_functions.dcrf").read_text(encoding="utf-8")
    starts = [d.primary.span.start for d in check(load_text(text)) if d.primary]
    assert len(starts) >= 4 and starts == sorted(starts)


def test_a_label_column_that_the_segments_metric_cannot_read_is_found_in_the_data() -> None:
    text = "data conll(word, pos)\nlabel pos\nclique pos: word\nevaluate segments(pos)\n"
    texts = {"word": Texts(["a"]), "pos": Texts(["B-X", "NN"])}
    assert complaints(text) == []
    assert complaints(text, corpus=Columns(texts)) == ["no-segments"]


# examples ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.dcrf")))
def test_examples_have_no_error(name: str) -> None:
    assert not [d for d in check(load_template(EXAMPLES / f"{name}.dcrf")) if d.severity == "error"]


def test_another_stage_of_an_example_runs() -> None:
    path = EXAMPLES / "05_criteria.dcrf"
    found = check(load_template(path, stage="map"), stage="map")
    assert {d.slug for d in found} == {"multi-word-entry"} and {d.severity for d in found} == {"warning"}


# doors ------------------------------------------------------------------------------------------------------------


@dataclass
class Texts:
    values: list[str]
    holds: str = "texts"


@dataclass
class Numbers:
    values: Any = field(default_factory=lambda: np.zeros(3))
    holds: str = "numbers"


@dataclass
class Columns:
    columns: Mapping[str, Any]
    file: str = "train.txt"
    longest: int = 3

    def lengths(self) -> Any:
        return np.array([1, self.longest])


CHUNKER = "data conll(word, height:float, chunk)\nlabel chunk\nclique chunk: word, height\n"
WORDS = Texts(["a", "b"])

# Columns of a data set, and the complaints about the chunker above.
DATA: Mapping[str, tuple[Mapping[str, Any], list[str]]] = {
    "all there": ({"word": WORDS, "height": Numbers(), "chunk": WORDS}, []),
    "no word": ({"height": Numbers(), "chunk": WORDS}, ["missing-column"]),
    "no gold": ({"word": WORDS, "height": Numbers()}, ["missing-label"]),
    "texts for numbers": ({"word": WORDS, "height": WORDS, "chunk": WORDS}, ["column-type"]),
    "numbers for texts": ({"word": Numbers(), "height": Numbers(), "chunk": WORDS}, ["column-type"]),
}


@pytest.mark.parametrize("case", DATA)
def test_a_data_set_is_held_against_the_template(case: str) -> None:
    columns, expected = DATA[case]
    assert complaints(CHUNKER, corpus=Columns(columns)) == expected


WINDOW = "data conll(word, y)\nlabel y in {A, B}\nclique y[-1], y as c\npiece p over y[-2], y, y[1]: c, c[1], c[-1]\n"


@pytest.mark.parametrize(("longest", "expected"), [(3, ["piece-without-instance"]), (4, [])])
def test_a_piece_that_fits_no_sentence_is_pointed_out(longest: int, expected: list[str]) -> None:
    columns = Columns({"word": WORDS, "y": Texts(["A", "B"])}, longest=longest)
    assert complaints(WINDOW, corpus=columns) == expected
    assert complaints(WINDOW) == []


def test_ascii_classes_are_noted_where_the_data_has_other_letters() -> None:
    text = "data conll(word, tag)\nlabel tag\nclique tag: word has /[A-Z]/, lower(word) matches /\\w+/, word has /x/\n"
    english, turkish = Texts(["the", "Cat"]), Texts(["ev", "Çay"])
    assert complaints(text, corpus=Columns({"word": english, "tag": english})) == []
    found = check(load_text(text), corpus=Columns({"word": turkish, "tag": english}))
    assert [(d.slug, d.severity, d.primary.span.text) for d in found if d.primary] == [
        ("ascii-class", "note", "A-Z"),
        ("ascii-class", "note", "\\w"),
    ]
    assert "`Çay`" in found[0].message


def test_functions_of_the_user_are_known_if_they_are_loaded() -> None:
    text = "data conll(word, tag)\nlabel tag\nclique tag: soundex(word)\n"
    assert complaints(text, registered=REGISTERED) == []
    assert complaints(text) == ["unknown-function"]


def test_an_unknown_stage_is_an_error() -> None:
    assert complaints(CHUNKER, stage="nope") == ["unknown-stage"]


def test_errors_are_raised_and_warnings_returned() -> None:
    multi = load_template(LANGUAGE / "bad" / "settings" / "multi_word_entries.dcrf")
    assert [d.slug for d in check_or_raise(multi)] == ["multi-word-entry"]
    with pytest.raises(DcrfError) as caught:
        check_or_raise(load_text(CHUNKER + "infer exakt\n"))
    assert [d.slug for d in caught.value.diagnostics] == ["unknown-method"]


@pytest.mark.parametrize(
    "path", sorted(LANGUAGE.glob("*/*/*.dcrf")), ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_a_model_that_was_never_a_text_is_checked_too(path: Path) -> None:
    """A model built in Python has no places; the complaints are the same, apart from those of the text itself."""
    resolved = resolved_file(path)
    parts = {name: getattr(resolved.spec, name) for name in field_names(ModelSpec)}
    nowhere = {name: relocated(part, lambda _: NOWHERE) for name, part in parts.items()}
    built = Resolved(resolved.spec.model_copy(update=nowhere), directories=resolved.directories)
    with contextlib.chdir(path.parent):
        expected = {d.slug for d in check(resolved, registered=REGISTERED)} - {d.slug for d in resolved.diagnostics}
        found = check(built, registered=REGISTERED)
    assert all(d.primary is None and render(d) for d in found)
    if resolved.complete:
        assert {d.slug for d in found} >= expected


# tables that two rooms share ---------------------------------------------------------------------------------------


def test_the_metrics_are_those_that_are_computed() -> None:
    assert set(COMPUTED) == set(METRICS)


def test_the_formats_that_run_are_those_that_are_read() -> None:
    assert all(isinstance(data_format(name), DataFormat) for name in FORMATS)


# nothing is too odd to be checked -------------------------------------------------------------------------------------

SOURCES = [path.read_text(encoding="utf-8") for path in sorted(LANGUAGE.glob("good/*/*.dcrf"))]
SOURCES += [path.read_text(encoding="utf-8") for path in sorted(LANGUAGE.glob("bad/[cght]*/*.dcrf"))]
TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
PARTS = sorted({token for source in SOURCES for token in TOKEN.findall(source)})


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A template in which a few tokens were dropped, doubled, swapped or replaced by tokens of other templates."""
    tokens = TOKEN.findall(draw(st.sampled_from(SOURCES)))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(tokens) - 1))
        new = draw(
            st.sampled_from(
                [[], [tokens[at]] * 2, [draw(st.sampled_from(PARTS))], [draw(st.sampled_from(PARTS)), tokens[at]]]
            )
        )
        tokens[at : at + 1] = new or [""]
    return "".join(tokens)


@pytest.mark.long
@settings(max_examples=300, deadline=None)
@given(mutated())
def test_no_template_breaks_the_checker(text: str) -> None:
    found = check(load_text(text, directory=LANGUAGE / "good" / "features"))
    for diagnostic in found:
        assert diagnostic.slug in EXPLANATIONS
        assert render(diagnostic)
    places = [(d.primary.span, d.severity) for d in found if d.primary]
    assert len(places) == len(set(places))


SPECS = [resolved_file(path).spec.model_dump() for path in sorted(LANGUAGE.glob("*/[cghst]*/*.dcrf"))]
WORDS_OF_SPECS = (
    "chunk",
    "word",
    "pos",
    "f",
    "token",
    "chain",
    "first",
    "days",
    "O",
    "yes",
    "",
    "bio",
    "exact",
    "é[",
    "likelihood",
)


def leaves(node: Any) -> list[tuple[Any, Any]]:
    """(container, key) of every text and number inside a dumped specification."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    found = []
    for key, value in items:
        if isinstance(value, dict | list):
            found += leaves(value)
        elif isinstance(value, str | int) and key not in ("kind", "doc"):
            found.append((node, key))
    return found


@pytest.mark.long
@settings(max_examples=200, deadline=None)
@given(st.data())
def test_no_specification_breaks_the_checker(data: st.DataObject) -> None:
    """Names and numbers exchanged at random; what pydantic lets through must be checked without an accident."""
    spec = json.loads(json.dumps(data.draw(st.sampled_from(SPECS))))
    places = leaves(spec)
    for _ in range(data.draw(st.integers(1, 3))):
        node, key = data.draw(st.sampled_from(places))
        numbers = st.integers(-3, 3) | st.just(10**9)
        node[key] = data.draw(st.sampled_from(WORDS_OF_SPECS) if isinstance(node[key], str) else numbers)
    try:
        valid = ModelSpec.model_validate_json(json.dumps(spec))
    except ValidationError:
        return
    for diagnostic in check(Resolved(valid)):
        assert diagnostic.slug in EXPLANATIONS and render(diagnostic)


def test_an_unknown_scheme_of_a_label_of_segments_is_a_problem_and_no_accident() -> None:
    text = "data conll(word, chunk)\nlabel chunk in bio(NP)\nsegment chunk up to 5: length\n"
    spec = json.loads(load_text(text).require().model_dump_json())
    spec["labels"][0]["domain"]["name"] = "chunk"
    found = check(Resolved(ModelSpec.model_validate_json(json.dumps(spec))))
    assert found and all(render(one) for one in found)


def test_a_long_line_is_clipped_around_its_carets() -> None:
    before, after = (", ".join(f"word[{offset}]" for offset in range(start, start + 60)) for start in (0, 60))
    found = check(load_text(f"data conll(word, chunk)\nlabel chunk\nclique chunk: {before}, wrod, {after}\n"))
    (shown, marks) = (line for line in render(found[0]).splitlines()[-3:-1])
    text = shown.partition("| ")[2]
    assert len(text) == 162 and text[0] == text[-1] == "…"
    carets = [n for n, char in enumerate(marks) if char == "^"]
    assert "".join(shown[n] for n in carets) == "wrod"
