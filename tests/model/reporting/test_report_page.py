"""The report as a page: every section and layer is there, it asks nothing of a network, and hostile data stay text."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from functools import partial
from importlib.resources import files
from pathlib import Path

import pytest
from report_cases import HOSTILE, Page, colour_pairs, contrast, read_page, two_layers

from dcrfdsl import compare
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.foundation import parts_style, printable
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.model.reporting import page_writer
from dcrfdsl.model.reporting.wrong_labels import error_pages
from dcrfdsl.model.trained_model import load

SECTIONS = [
    "scores", "confusions", "errors", "calibration", "training", "weights", "transitions", "graph", "data", "template",
    "record",
]  # fmt: skip


@pytest.fixture(scope="module")
def trained():
    return two_layers()


@pytest.fixture(scope="module")
def text(trained, tmp_path_factory) -> str:
    model, corpus = trained
    path = tmp_path_factory.mktemp("page") / "report.html"
    assert model.report(corpus, path, title="a & <b>", draws=50, explained=20, threads=1) == [path]
    return path.read_text(encoding="utf-8")


def test_every_section_is_there_and_linked(text):
    page = read_page(text)
    assert [named["id"] for tag, named in page.tags if tag == "section"] == SECTIONS
    links = [named["href"] for tag, named in page.tags if tag == "a"]
    assert links == ["#main", *(f"#{slug}" for slug in SECTIONS)]
    assert len(set(page.ids)) == len(page.ids)
    assert page.text.count("a & <b>") == 2  # title and heading


def test_every_layer_is_in_every_section_on_labels(text, trained):
    model, corpus = trained
    page = read_page(text)
    for label in model.labels:
        for caption in (
            f"States of {label}: gold in rows",
            f"Most frequent confusions of {label}",
            f"Reliability of {label}",
        ):
            assert caption in page.text
        assert f"accuracy({label})" in page.text
    assert "Gold segments of chunk" in page.text and "Gold segments of pos" not in page.text
    assert {one["name"] for one in page.data["labels"]} == {"pos", "chunk"}
    evaluation = model.scores.judged(corpus, model.predict(corpus))
    wrong = sum(int((evaluation.scored(y) & ~evaluation.right(y)).sum()) for y in model.labels)
    assert len(page.data["errors"]) == wrong > 20
    assert all(error[7] >= 0 for error in page.data["errors"][:20])  # they are explained


def test_explanations_are_those_of_the_model(text, trained):
    model, corpus = trained
    data = read_page(text).data
    for label, row, at, gold, predicted, *_, why, _ in data["errors"][:12]:
        name, texts = data["labels"][label]["name"], data["labels"][label]["texts"]
        sentence = data["sentences"][row]["n"] - 1
        expected = model.explain(corpus.slice(sentence, sentence + 1), at, label=name, against=texts[gold])
        assert expected.chosen == texts[predicted]
        told = data["whys"][why]
        assert told["margin"] == pytest.approx(expected.margin, abs=1e-4)
        assert [term[0] for term in told["terms"]] == pytest.approx(
            [c.score for c in expected.contributions[:8]], abs=1e-4
        )
        assert sum(term[0] for term in told["terms"]) + told["left"][1] == pytest.approx(told["margin"], abs=1e-3)


def test_scores_are_those_of_the_model(text, trained):
    model, corpus = trained
    page = read_page(text)
    scores = model.evaluate(corpus)
    for name in ("accuracy(pos)", "segments(chunk).f1"):
        assert f"{100 * scores[name]:.2f}" in page.text
    assert "oov_accuracy(pos, word)" in page.text


def test_training_weights_template_and_record_are_told(text, trained):
    model, _ = trained
    page = read_page(text)
    for words in (
        "Stage 1: first",
        "Stage 2: second",
        "max_iterations = 3",
        model.record.data_sha256,
        "numba, at training",
    ):
        assert words in page.text
    for _, feature, states, weight in model.explanations.strongest_weights(3, "words"):
        assert feature in page.text and f"{weight:+.4f}" in page.text and " ".join(states) in page.text
    assert "Weights of chain" in page.text and "chunk[-1] ↓ chunk →" in page.text
    kinds = [named.get("class") for tag, named in page.tags if tag == "span"]
    assert {"t-kd", "t-nf"} <= set(kinds)  # the template is highlighted


def test_the_page_asks_nothing_of_a_network(text):
    page = read_page(text)
    names = {name for _, named in page.tags for name in named}
    assert not names & {"src", "srcset", "style", "action", "data", "poster", "background", "xmlns", "xlink:href"}
    assert not [name for name in names if name.startswith("on")]
    assert not {tag for tag, _ in page.tags} & {"link", "img", "iframe", "object", "embed", "base"}
    assert not re.search(r"https?:|url\(|@import|fetch\(|XMLHttpRequest|//[a-z]+\.", text)


def test_its_policy_names_its_script_and_style_alone(text):
    page = read_page(text)
    (policy,) = [named["content"] for _, named in page.tags if named.get("http-equiv") == "Content-Security-Policy"]
    hashes = {}
    for (tag, kind, _), content in page.inside.items():
        if kind is None:
            hashes[tag] = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{hashes['style']}'; script-src 'sha256-{hashes['script']}'; "
        "base-uri 'none'; form-action 'none'"
    )


def test_the_page_can_be_read_out(text):
    page = read_page(text)
    for n, (tag, named) in enumerate(page.tags):
        if tag == "table":
            assert page.tags[n + 1][0] == "caption"
        if tag == "th":
            assert named["scope"] in ("row", "col")
        if tag == "svg" and named.get("class") == "chart":
            assert named["role"] == "img" and named["aria-label"]
        if named.get("class") == "wide":
            assert named["tabindex"] == "0" and named["aria-label"] and named["role"] in ("region", "group")
        if tag in ("select", "input"):
            assert ("label", {"for": named["id"]}) in page.tags
    assert [tag for tag, _ in page.tags].count("h1") == 1
    assert page.tags[0] == ("html", {"lang": "en"})


def test_the_same_seed_gives_the_same_page(text, trained, tmp_path):
    model, corpus = trained
    model.save(tmp_path / "a.model")
    pages = load(tmp_path / "a.model").report(
        corpus, tmp_path / "again.html", title="a & <b>", draws=50, explained=20, threads=2
    )
    assert pages[0].read_text(encoding="utf-8") == text


# hostile data -----------------------------------------------------------------------------------------------------


def test_hostile_data_stay_text(tmp_path):
    """The page has the same tags and attributes as one of harmless data, and shows each text, or its escapes."""
    states = ("</td><td>", "&quot;\u202e")
    pages = []
    for name, words, of_pos in (("harmless", "abcdef", ("P", "Q")), ("hostile", HOSTILE, states)):
        model, corpus = two_layers(words, of_pos)
        (path,) = model.report(corpus, tmp_path / f"{name}.html", draws=20, explained=10, threads=1, title="a page")
        pages.append(Page(path.read_text(encoding="utf-8")))
    harmless, hostile = pages

    def frame(page):
        return [tag for tag, _ in page.tags if tag != "code"]  # text between backquotes stands in `code`

    assert {tag for tag, _ in hostile.tags} <= {tag for tag, _ in harmless.tags} | {"code"}
    assert frame(hostile).count("script") == 2 and frame(hostile).count("td") == frame(harmless).count("td")
    assert {name for _, named in hostile.tags for name in named} <= {
        name for _, named in harmless.tags for name in named
    }
    shown = {word for sentence in hostile.data["sentences"] for word in sentence["w"]}
    assert shown == {printable(word) for word in HOSTILE}
    for word in (*HOSTILE, *states):
        assert printable(word) in hostile.text
    raw = (tmp_path / "hostile.html").read_text(encoding="utf-8")
    assert not set("\u202e\u2066\u2028\u0000\x1b") & set(raw)
    assert "7 * 7" in hostile.text and raw.count("<script") == 2 and "<img" not in raw


def test_a_comparison_is_shown_with_its_tests_and_errors(trained, tmp_path):
    model, corpus = trained
    other = model.with_weights(-model.weights, model.record)
    found = compare({"one & <b>": model, "other": other}, corpus, draws=20, exchanges=50)
    (path,) = model.report(corpus, tmp_path / "both.html", draws=20, threads=1, explained=0, comparison=found)
    page = Page(path.read_text(encoding="utf-8"))
    assert found.errors and found.error_differences
    for words in ("p (Holm)", "p (McNemar)", "Errors by type", "Most frequent differences", "one & <b>"):
        assert words in page.text
    with pytest.raises(TypeError, match="comparison"):
        model.report(corpus, tmp_path / "both.html", comparison="other.model")


# pages, choices, mistakes -----------------------------------------------------------------------------------------


def test_many_errors_go_to_further_pages(trained, tmp_path, monkeypatch):
    model, corpus = trained
    monkeypatch.setattr(page_writer, "error_pages", partial(error_pages, page_bytes=4000))
    paths = model.report(corpus, tmp_path / "re port.html", draws=20, threads=1, explained=0)
    assert [path.name for path in paths[:3]] == ["re port.html", "re port-2.html", "re port-3.html"]
    pages = [Page(path.read_text(encoding="utf-8")) for path in paths]
    listed = [named["href"] for tag, named in pages[1].tags if tag == "a" and ".html" in named["href"]]
    assert listed == [path.name.replace(" ", "%20") for path in paths if path != paths[1]]
    assert [named["id"] for tag, named in pages[1].tags if tag == "section"] == ["errors"]
    keys = [
        (page.data["sentences"][error[1]]["n"], error[2], page.data["labels"][error[0]]["name"])
        for page in pages for error in page.data["errors"]
    ]  # fmt: skip
    assert len(set(keys)) == len(keys) > 20  # each error is on one page


def test_errors_left_out_are_counted(trained, tmp_path):
    model, corpus = trained
    (path,) = model.report(corpus, tmp_path / "few.html", errors=5, explained=2, draws=20, sentences=[3], threads=1)
    page = Page(path.read_text(encoding="utf-8"))
    assert len(page.data["errors"]) == 5 and len(page.data["whys"]) == 2
    assert "The first 5 are listed" in page.text and "are left out" in page.text
    assert page.text.count("Factor graph of sentence") == 1 and "Sentence 4" in page.text


def test_a_model_without_mistakes_has_no_browser(trained, tmp_path):
    model, corpus = trained
    predicted = model.predict(corpus)
    word = corpus.text_column("word")
    rows = [
        [(word.text(t), predicted.texts("pos")[t], predicted.texts("chunk")[t]) for t in range(start, end)]
        for start, end in zip(corpus.sentence_off, corpus.sentence_off[1:], strict=False)
    ]
    (path,) = model.report(corpus_from_rows(rows, model.spec.data), tmp_path / "right.html", draws=20, threads=1)
    page = Page(path.read_text(encoding="utf-8"))
    assert "is right" in page.text and "error-data" not in page.ids and "filters" not in page.ids


@pytest.mark.parametrize(
    ("wrong", "slug"),
    [
        ({"sentences": [15]}, "no-such-sentence"),
        ({"sentences": [-1]}, "no-such-sentence"),
        ({"level": 1.0}, "bad-level"),
        ({"path": "no/such/folder.html"}, "no-such-directory"),
    ],
)
def test_bad_choices_are_refused(trained, tmp_path, wrong, slug):
    model, corpus = trained
    path = tmp_path / wrong.pop("path", "a.html")
    with pytest.raises(DcrfError) as caught:
        model.report(corpus, path, **wrong)
    assert caught.value.diagnostics[0].slug == slug
    assert not path.exists()
    for number in wrong.get("sentences", ()):
        assert f"there is no number {number}" in str(caught.value)


def test_without_the_library_it_says_what_to_install(trained, tmp_path, monkeypatch):
    model, corpus = trained
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(DcrfError, match=r"pip install -e '\.\[report\]'"):
        model.report(corpus, tmp_path / "a.html")


def test_data_without_a_token_are_refused(trained, tmp_path):
    model, corpus = trained
    with pytest.raises(DcrfError, match="nothing to report"):
        model.report(corpus.slice(0, 0), tmp_path / "a.html")


# colours ----------------------------------------------------------------------------------------------------------

ON_PAGE = ("fg", "muted", "link", "good", "bad", "name", "c0", "c1", "c2", "c3", "c4", "c5")
SHADES = [f"{kind}{n}" for kind in ("cool", "warm") for n in range(1, 7)]
TEXTS = [
    *((text, "bg") for text in ON_PAGE),
    *((text, "card") for text in ("fg", "muted", "link", "good", "bad", "name")),
    *(("fg", behind) for behind in ("note", "mark", *SHADES)),
]


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("text", "behind"), TEXTS, ids=[f"{a} on {b}" for a, b in TEXTS])
def test_texts_stand_out(text, behind, theme):
    """WCAG 2.2, AA: 4.5 to 1."""
    style = parts_style()
    colours = colour_pairs(style)
    assert contrast(colours[text][theme], colours[behind][theme]) >= 4.5


def test_the_assets_are_in_the_package():
    names = {path.name for path in Path(str(files("dcrfdsl.model.reporting").joinpath("page"))).iterdir()}
    assert names == {"report.html.j2", "browser.html.j2", "report.css", "report.js"}
