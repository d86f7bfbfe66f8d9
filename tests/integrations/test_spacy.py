"""Models as components of spaCy pipelines: what they set is what the model says of the same tokens."""

from __future__ import annotations

import doctest
import pickle
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from dcrfdsl import DcrfError, DcrfWarning, TrainedModel, corpus_from_rows, fit, load_text

spacy = pytest.importorskip("spacy", reason="needs spaCy: pip install -e '.[spacy]'")
from spacy.tokens import Doc, DocBin, Span, Token  # noqa: E402
from spacy.training import Example  # noqa: E402

from dcrfdsl.spacy import SpacyTagger, corpus_from_docs, make_tagger  # noqa: E402

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").exists())
ADDRESS = """data conll(word, part)
label part in bio(STREET, TOWN)
clique part: bias, word[-1..1]
clique part[-1], part
train likelihood: prior = gaussian(variance = 1)
"""
SENTENCES = [
    ("9 Bath Lane , Oxford", "B-STREET I-STREET I-STREET O B-TOWN"),
    ("Mill Road , Bath", "B-STREET I-STREET O B-TOWN"),
    ("in Oxford .", "O B-TOWN O"),
]


def trained(template: str, rows: list[list[Any]]) -> TrainedModel:
    resolved = load_text(template)
    return fit(resolved, corpus_from_rows(rows, resolved.require().data))


@pytest.fixture(scope="module")
def model() -> TrainedModel:
    return trained(ADDRESS, [list(zip(w.split(), p.split(), strict=True)) for w, p in SENTENCES])


@pytest.fixture
def path(model: TrainedModel, tmp_path: Path) -> str:
    model.save(tmp_path / "address.model")
    return str(tmp_path / "address.model")


def pipeline(path: str, *before: str, **config: Any) -> Any:
    nlp = spacy.blank("en")
    for name in before:
        nlp.add_pipe(name)
    nlp.add_pipe("dcrfdsl", config={"model": path, **config})
    return nlp


def segments(doc: Doc) -> list[tuple[str, str, float]]:
    return [(ent.text, ent.label_, ent._.confidence) for ent in doc.ents]


# what is set ----------------------------------------------------------------------------------------------------------


def test_spacy_finds_the_component_by_its_name_alone() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["spacy_factories"]
    module, _, name = declared["dcrfdsl"].partition(":")
    assert getattr(import_module(module), name) is make_tagger


def test_entities_and_confidence_are_those_of_the_model(model: TrainedModel, path: str) -> None:
    doc = pipeline(path)("9 Bath Lane, Oxford")
    words = [token.text for token in doc]
    sure = model.calibration.confidences(words)
    assert [token.ent_iob_ + "-" * bool(token.ent_type_) + token.ent_type_ for token in doc] == model.tag(words)
    assert [(ent.start, ent.end - 1, ent.label_) for ent in doc.ents] == [s[2:4] + s[1:2] for s in sure.segments]
    assert [ent._.confidence for ent in doc.ents] == pytest.approx([one.probability for one in sure.segments])
    assert [token._.confidence for token in doc] == pytest.approx(sure.tokens["part"])


def test_sentences_are_those_that_spacy_has_set(model: TrainedModel, path: str) -> None:
    text = "9 Bath Lane, Oxford. Mill Road"
    together, apart = pipeline(path)(text), pipeline(path, "sentencizer")(text)
    assert len(list(apart.sents)) == 2
    tags = [tag for sentence in apart.sents for tag in model.tag([token.text for token in sentence])]
    sure = [p for s in apart.sents for p in model.calibration.confidences([t.text for t in s]).tokens["part"]]
    assert [token._.confidence for token in apart] == pytest.approx(sure)
    assert [token.ent_type_ for token in apart] == [tag[2:] for tag in tags]
    assert [token._.confidence for token in together] != pytest.approx(sure)


def test_white_space_is_no_token_of_a_sentence(model: TrainedModel, path: str) -> None:
    doc = pipeline(path)("9 Bath\n\nLane ,  Oxford\n")
    assert [token.text for token in doc if token.is_space] == ["\n\n", " ", "\n"]
    expected = model.calibration.confidences(["9", "Bath", "Lane", ",", "Oxford"])
    assert segments(doc) == [
        ("9 Bath\n\nLane", "STREET", pytest.approx(expected.segments[0].probability)),
        ("Oxford", "TOWN", pytest.approx(expected.segments[1].probability)),
    ]


@pytest.mark.parametrize("text", ["", " ", "\n \n"])
def test_documents_without_words_have_no_entities(text: str, path: str) -> None:
    doc = pipeline(path, "sentencizer")(text)
    assert doc.ents == () and doc.text == text


MANY = """data conll(word, kind, height: float, tag, pos, entity, place, mood)
label tag in {NN, CD}
label pos
label entity in bioes(X, Y)
label place in bio(TOWN)
label mood
clique tag: word, kind
clique pos: word, height
clique entity: word
clique place: word
clique mood: word
"""
MANY_ROWS = [
    [
        ("9", "d", 1.0, "CD", "NUM", "B-X", "O", "good"),
        ("Bath", "c", 2.0, "NN", "PROPN", "E-X", "B-TOWN", "bad"),
        ("Spa", "c", 3.0, "NN", "PROPN", "S-Y", "I-TOWN", "bad"),
    ]
] * 3


@pytest.fixture
def kind() -> Any:
    Token.set_extension("kind", getter=lambda token: "d" if token.is_digit else "c", force=True)
    yield
    Token.remove_extension("kind")


def test_every_label_has_its_place(kind: None, tmp_path: Path) -> None:
    trained(MANY, MANY_ROWS).save(tmp_path / "many.model")
    config = {"columns": {"kind": "_.kind", "height": "i"}, "labels": {"mood": "_.humour"}}
    doc = pipeline(str(tmp_path / "many.model"), **config)("9 Bath Spa")
    assert [token.tag_ for token in doc] == ["CD", "NN", "NN"]
    assert [token.pos_ for token in doc] == ["NUM", "PROPN", "PROPN"]
    assert [(ent.text, ent.label_) for ent in doc.ents] == [("9 Bath", "X"), ("Spa", "Y")]
    assert [(span.text, span.label_) for span in doc.spans["place"]] == [("Bath Spa", "TOWN")]
    assert [token._.humour for token in doc] == ["good", "bad", "bad"]
    assert set(doc[0]._.confidence) == {"tag", "pos", "entity", "place", "mood"}
    Token.remove_extension("humour")


def test_columns_are_read_from_attributes_by_name() -> None:
    """A model that repeats what it reads: every attribute arrives, as a text."""
    values = {
        "text": "Cats", "lower": "cats", "lemma": "cat", "pos": "NOUN", "tag": "NNS", "dep": "nsubj", "shape": "Xxxx",
        "is_title": "True", "morph": "Number=Plur", "head.lemma": "purr", "head": "purr", "i": "0",
    }  # fmt: skip
    for attribute, value in values.items():
        model = trained("data conll(c, y)\nlabel y\nclique y: c", [[(value, "yes")], [("?", "no")]] * 9)
        words = {"words": ["Cats", "purr"], "lemmas": ["cat", "purr"], "pos": ["NOUN", "VERB"], "tags": ["NNS", "VBP"]}
        nlp = spacy.blank("en")
        doc = Doc(nlp.vocab, heads=[1, 1], deps=["nsubj", "ROOT"], morphs=["Number=Plur", ""], **words)
        SpacyTagger("reader", model, {"c": attribute}, {"y": "_.read"})(doc)
        assert doc[0]._.read == "yes", attribute
    Token.remove_extension("read")


def test_without_confidence_none_is_set(path: str) -> None:
    doc = pipeline(path, confidence=False)("9 Bath Lane")
    assert [(ent.text, ent._.confidence) for ent in doc.ents] == [("9 Bath Lane", None)]
    assert doc[0]._.confidence is None


def test_a_sentence_without_a_possible_labelling_gets_no_labels(tmp_path: Path) -> None:
    template = "data conll(word, y)\nlabel y\nclique y: word\nforbid y in {A, B} when word is b"
    trained(template, [[("a", "A"), ("c", "B")]]).save(tmp_path / "m")
    nlp = pipeline(str(tmp_path / "m"))
    with pytest.warns(DcrfWarning, match=r"1 sentence without .* begins with `b a`"):
        bad = nlp("b a")
    assert [token._.y for token in bad] == [None, None]
    assert [token._.y for token in nlp("a c")] == ["A", "B"]
    Token.remove_extension("y")


# many documents, keeping ----------------------------------------------------------------------------------------------

TEXTS = ["9 Bath Lane, Oxford", "", "Mill Road", "\n", "He lives in Oxford. She lives in Bath."] * 3


@pytest.mark.parametrize(("batch_size", "n_process"), [(1, 1), (4, 1), (100, 1), (3, 2)])
def test_many_documents_are_labelled_as_each_alone(batch_size: int, n_process: int, path: str) -> None:
    nlp = pipeline(path, "sentencizer")
    found = [segments(doc) for doc in nlp.pipe(TEXTS, batch_size=batch_size, n_process=n_process)]
    assert len(found) == len(TEXTS) and any(found)
    for one, text in zip(found, TEXTS, strict=True):
        assert one == [(*first, pytest.approx(p)) for *first, p in segments(nlp(text))]


def test_the_model_travels_with_the_pipeline(path: str, tmp_path: Path) -> None:
    nlp, text = pipeline(path), "9 Bath Lane, Oxford"
    expected = segments(nlp(text))
    nlp.to_disk(tmp_path / "kept")
    content = nlp.to_bytes()
    Path(path).unlink()
    assert segments(spacy.load(tmp_path / "kept")(text)) == expected
    assert segments(spacy.blank("en").from_config(nlp.config).from_bytes(content)(text)) == expected
    assert segments(pickle.loads(pickle.dumps(nlp.get_pipe("dcrfdsl")))(nlp.make_doc(text))) == expected


def test_confidence_is_kept_with_a_document(path: str) -> None:
    nlp = pipeline(path)
    doc = nlp("9 Bath Lane, Oxford")
    again = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert segments(again) == segments(doc)
    assert [token._.confidence for token in again] == [token._.confidence for token in doc]


def test_a_probability_is_that_of_a_type_in_a_place(path: str, tmp_path: Path) -> None:
    """Two components mark the same words, one with other types, one in `doc.spans`."""
    text = "9 Bath Lane, Oxford"
    alone = pipeline(path)(text)
    rows = [list(zip(w.split(), p.split(), strict=True)) for w, p in SENTENCES]
    other = ADDRESS.replace("variance = 1)", "variance = 9)")
    trained(other, rows).save(tmp_path / "surer")
    nlp = pipeline(path)
    nlp.add_pipe("dcrfdsl", name="surer", config={"model": str(tmp_path / "surer"), "labels": {"part": "spans"}})
    both = nlp(text)
    assert segments(both) == segments(alone)
    sure = {(one.text, one.label_): one._.confidence for one in both.spans["part"]}
    assert all(sure[text, kind] > p + 0.01 for text, kind, p in segments(both)) and len(sure) == 2
    joined = Doc.from_docs([both, both])
    assert segments(joined) == segments(both) * 2
    ruler = nlp.add_pipe("entity_ruler", config={"overwrite_ents": True})
    ruler.add_patterns([{"label": "CITY", "pattern": "Oxford"}])
    assert [(ent.label_, ent._.confidence is None) for ent in nlp(text).ents] == [("STREET", False), ("CITY", True)]
    unsure = nlp.get_pipe("dcrfdsl")
    unsure.confidence = False
    assert [ent._.confidence for ent in unsure(both).ents] == [None, None]


def test_spacy_evaluates_what_is_set(kind: None, path: str, tmp_path: Path) -> None:
    nlp = pipeline(path)
    gold = nlp.make_doc("9 Bath Lane, Oxford in Oxford")
    example = Example.from_dict(gold, {"entities": [(0, 11, "STREET"), (23, 29, "TOWN")]})
    predicted = segments(nlp("9 Bath Lane, Oxford in Oxford"))
    scores = nlp.evaluate([example])
    assert [one[:2] for one in predicted] == [("9 Bath Lane", "STREET"), ("Oxford", "TOWN"), ("Oxford", "TOWN")]
    assert (scores["ents_p"], scores["ents_r"]) == (pytest.approx(2 / 3), 1.0)
    trained(MANY, MANY_ROWS).save(tmp_path / "many.model")
    many = pipeline(str(tmp_path / "many.model"), columns={"kind": "_.kind", "height": "i"})
    example = Example.from_dict(many.make_doc("9 Bath"), {"tags": ["CD", "CD"], "pos": ["NUM", "PROPN"]})
    assert (scores := many.evaluate([example]))["tag_acc"] == 0.5 and scores["pos_acc"] == 1.0
    Token.remove_extension("mood")


def test_a_batch_that_fails_is_given_to_the_error_handler_of_spacy(path: str) -> None:
    nlp, failed = pipeline(path, columns={"word": "_.later"}), []
    nlp.set_error_handler(lambda name, component, docs, error: failed.append((name, len(docs), str(error))))
    assert list(nlp.pipe(["a", "b"])) == []
    assert failed[0][:2] == ("dcrfdsl", 2) and "no extension `later`" in failed[0][2]


# what cannot be -------------------------------------------------------------------------------------------------------

REFUSED = {
    "column": ({"columns": {"word": "txt"}}, r"missing-column.*no attribute `txt`.*columns = .'word': 'text'"),
    "no such column": ({"columns": {"wrd": "text"}}, r"no column `wrd`.*did you mean `word`"),
    "no such label": ({"labels": {"prt": "tag"}}, r"no label `prt`.*did you mean `part`"),
    "no place": ({"labels": {"part": "entities"}}, r"`entities` is no place for the label `part`.*`ents`"),
    "pos": ({"labels": {"part": "pos"}}, r"states that `token.pos` does not take: `B-STREET`"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_config_has_wrong_is_one_error_at_once(case: str, path: str) -> None:
    config, message = REFUSED[case]
    with pytest.raises(DcrfError, match=f"(?s){message}"):
        pipeline(path, **config)


def test_a_label_without_segments_is_no_entity(tmp_path: Path) -> None:
    trained("data conll(word, kind)\nlabel kind in {A, B}\nclique kind: word", [[("a", "A")], [("b", "B")]]).save(
        tmp_path / "m"
    )
    with pytest.raises(DcrfError, match=r"label `kind` has no segments, which `ents` needs: its states are `A`, `B`"):
        pipeline(str(tmp_path / "m"), labels={"kind": "ents"})


def test_a_column_that_no_feature_reads_need_not_be_there(model: TrainedModel) -> None:
    template = ADDRESS.replace("(word, part)", "(word, strange, pos, part)")
    rows = [[(w, "?", "?", p) for w, p in zip(ws.split(), ps.split(), strict=True)] for ws, ps in SENTENCES]
    doc = spacy.blank("en")("9 Bath Lane, Oxford")
    expected = segments(SpacyTagger("plain", model)(doc))
    assert segments(SpacyTagger("wide", trained(template, rows))(doc)) == expected
    corpus = corpus_from_docs([doc], load_text(template))
    assert fit(load_text(template), corpus).labels == ("part",)


def test_two_labels_have_two_places(kind: None, tmp_path: Path) -> None:
    trained(MANY, MANY_ROWS).save(tmp_path / "m")
    with pytest.raises(DcrfError, match=r"`entity` and `place` are both to be `ents`"):
        pipeline(str(tmp_path / "m"), columns={"kind": "_.kind", "height": "i"}, labels={"place": "ents"})


def test_a_model_that_is_not_there_is_an_error_when_it_is_used(path: str, tmp_path: Path) -> None:
    nlp = pipeline(str(tmp_path / "adress.model"))
    with pytest.raises(DcrfError, match=r"(?s)no model file .*adress.model.*did you mean .*address.model"):
        nlp("Bath")


def test_an_attribute_that_no_component_sets_is_a_warning(tmp_path: Path) -> None:
    trained("data conll(word, pos, y)\nlabel y\nclique y: pos", [[("a", "DET", "A"), ("b", "X", "B")]]).save(
        tmp_path / "m"
    )
    with pytest.warns(DcrfWarning, match=r"column `pos` is empty: no component before this one has set `token.pos_`"):
        pipeline(str(tmp_path / "m"))("a b")
    Token.remove_extension("y")


# training data --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["bio", "bioes", "iob1"])
def test_annotated_documents_are_training_data(scheme: str, tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    doc = nlp("9 Bath Lane Oxford. Mill\nRoad")
    doc.set_ents([Span(doc, 0, 3, "STREET"), Span(doc, 3, 4, "TOWN"), Span(doc, 5, 8, "STREET")])
    DocBin(docs=[doc]).to_disk(tmp_path / "train.spacy")
    docs = DocBin().from_disk(tmp_path / "train.spacy").get_docs(nlp.vocab)
    corpus = corpus_from_docs(docs, load_text(ADDRESS.replace("bio(", f"{scheme}(")))
    part = corpus.columns["part"]
    marks = {
        "bio": "B-STREET I-STREET I-STREET B-TOWN O B-STREET I-STREET",
        "bioes": "B-STREET I-STREET E-STREET S-TOWN O B-STREET E-STREET",
        "iob1": "I-STREET I-STREET I-STREET I-TOWN O I-STREET I-STREET",
    }
    assert [part.text(t) for t in range(corpus.num_tokens)] == marks[scheme].split()
    assert corpus.sentence_off.tolist() == [0, 5, 7]


@pytest.mark.parametrize("scheme", ["bio", "bioes", "iob1"])
def test_an_entity_that_is_missing_is_a_missing_label(scheme: str) -> None:
    nlp = spacy.blank("en")
    doc = nlp("9 Bath Lane Oxford")
    template = ADDRESS.replace("bio(STREET, TOWN)", f'{scheme}(STREET, TOWN) with missing = "?"')
    bare = corpus_from_docs([doc], load_text(template)).columns["part"]
    assert [bare.text(t) for t in range(4)] == ["?"] * 4
    doc.set_ents([Span(doc, 3, 4, "TOWN")], missing=[doc[0:2]], default="outside")
    part = corpus_from_docs([doc], load_text(template)).columns["part"]
    town = {"bio": "B-TOWN", "bioes": "S-TOWN", "iob1": "I-TOWN"}[scheme]
    assert [part.text(t) for t in range(4)] == ["?", "?", "O", town]
    fit(load_text(template), corpus_from_docs([doc], load_text(template)))
    with pytest.raises(DcrfError, match=r"(?s)in sentence 1 .* whether `9` is in an entity.*with missing = "):
        corpus_from_docs([doc], load_text(ADDRESS))
    with pytest.raises(DcrfError, match=r"not known whether `9`"):
        corpus_from_docs([nlp("9 Bath")], load_text(ADDRESS))


def test_spans_that_are_not_there_are_missing() -> None:
    nlp = spacy.blank("en")
    docs, in_spans = [nlp("9 Bath"), nlp("York")], {"part": "spans"}
    docs[0].spans["part"] = [Span(docs[0], 0, 2, "STREET")]
    with pytest.raises(DcrfError, match=r"(?s)in sentence 2 .* whether `York`.*`doc.spans\['part'\] = "):
        corpus_from_docs(docs, load_text(ADDRESS), labels=in_spans)
    template = load_text(ADDRESS.replace("bio(STREET, TOWN)", 'bio(STREET, TOWN) with missing = "?"'))
    for marks in (["B-STREET", "I-STREET", "?"], ["B-STREET", "I-STREET", "O"]):
        part = corpus_from_docs(docs, template, labels=in_spans).columns["part"]
        assert [part.text(t) for t in range(3)] == marks
        docs[1].spans["part"] = []


def test_what_a_component_writes_reads_back(path: str, model: TrainedModel) -> None:
    docs = list(pipeline(path, "sentencizer").pipe(TEXTS))
    corpus = corpus_from_docs(docs, model.spec)
    assert model.evaluate(corpus)["segments(part).f1"] == 1.0
    example = Example.from_dict(docs[0], {"entities": []})
    for wrong in (docs[0], ["9 Bath"], [example]):
        with pytest.raises(DcrfError, match=r"(?s)`docs` are no documents of spaCy.*example.reference"):
            corpus_from_docs(wrong, model.spec)  # type: ignore[arg-type]
    with pytest.raises(DcrfError, match="no label `prt`"):
        corpus_from_docs(docs, model.spec, labels={"prt": "tag"})


def test_the_example_of_the_help_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT / "examples/address")
    test = doctest.DocTestFinder().find(corpus_from_docs, globs={"corpus_from_docs": corpus_from_docs})[0]
    assert len(test.examples) > 2 and doctest.DocTestRunner().run(test).failed == 0
