"""Each ready-made template is clean, canonical, and goes the whole way on data of its shape."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sampling import some

from dcrfdsl.cli import run
from dcrfdsl.data import read_corpus
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_template
from dcrfdsl.training.pipeline import fit

TEMPLATES = Path(__file__).parents[2] / "templates"

CHUNKS = "The DT B-NP\ndog NN I-NP\nsees VBZ O\nher PRP B-NP\n\nShe PRP B-NP\nsees VBZ O\nthe DT B-NP\ndog NN I-NP\n\n"
ENTITIES = "Bonn NNP B-NP B-LOC\nlikes VBZ B-VP O\nAda NNP B-NP B-PER\n\nAda NNP B-NP B-PER\nlikes VBZ B-VP O\n\n"
NAMES = "Bonn NP B-LOC\nlikes VB O\nBonn NP B-LOC\n\nAda NP B-PER\nmet VB O\nBob NP B-PER\nand CC O\nAda NP B-PER\n\n"
MORPHOLOGY = """1	evi	ev	NOUN	NN	PersonNumber=A3sg|Possessive=P3sg|Case=Acc	2	dobj	_	_
2	gör	gör	VERB	VB	_	0	root	_	_

1	evde	ev	NOUN	NN	PersonNumber=A3sg|Possessive=Pnon|Case=Loc	2	obl	_	_
2	kal	kal	VERB	VB	_	0	root	_	_

"""
RESIDUES = "M C\nK H\nL H\nA H\nG C\nV E\nT E\n\nL H\nA H\nK H\nP C\nV E\nI E\nT E\nG C\n\n"
CROSSINGS = (
    "M C i\nK H i\nL H i\nA H i\nL H i\nG C i\nV E i\nT E m\nV C m\n\n"
    "L H m\nA H m\nL H m\nA H o\nP C o\nV E o\nI E o\nG C o\n\n"
)
PHRASES = "The DT NP\ndog NN NP\nsees VBZ VP\nher PRP NP\n\nShe PRP NP\nsees VBZ VP\nthe DT NP\ndog NN NP\n\n"
ROLES = "Ann NN B-AGENT\nsees VBZ O\nBob NN B-PATIENT\n\nhere RB B-PLACE\nAnn NN B-AGENT\nruns VBZ O\n\n"
ACTS = "3 what ask\n1 yes answer\n2 why _\n\n4 who ask\n2 Ann answer\n1 ok _\n\n"
ADDRESSES = "12 B-NUMBER\nHigh B-STREET\nSt I-STREET\nYork B-TOWN\n\nrear B-NOTE\n3 B-NUMBER\nleft B-NOTE\n\n"
TAGS = "The D DT\ndog N NN\nsees V VBZ\nher N PRP\n\nShe N PRP\nsees V VBZ\nthe D DT\ndog N NN\n\n"
REQUESTS = "fly O book\nto O _\nlima B-TO _\n\nrain O weather\nin O _\nlima B-PLACE _\n\n"
PICTURES = "".join(
    "".join(
        f"{'#' if col == bar else '.'} {row} {col} {'BAR' if col == bar else 'GROUND'}\n"
        for row in range(3)
        for col in range(4)
    )
    + "\n"
    for bar in (1, 3)
)
MUSIC = "C CEG C I\nF FAC C IV\nG GBD C V\nC CEG C I\n\nG GBD G I\nC CEG G IV\nD DFA G V\nG GBD G I\n\n"
DOMAINS = "the D _\ndog N _\nbarks V _\n. X _\n\nthe _ D\ncat _ N\nlol _ X\n\n"
WARD = "fever 38.5 110 ILL\ncough 37.2 90 BETTER\nsleeps 36.8 - WELL\n\nfever 39.5 120 ILL\nfever 38.0 - ILL\n\n"
FEW = "Bonn NP B-LOC\nis VB _\nold JJ _\n. . _\n\nAda NP B-PER\nmet VB _\nBob NP _\nthen RB _\n. . _\n\n"
PERSONAL = "call 1 O\nAda 1 B-NAME\nKing 1 I-NAME\nat 1 O\n555 1 B-PHONE\n\nBob 0.5 B-NAME\nwaits 0.5 O\n\n"
NOTES = "Ada B-PATIENT\nKing I-PATIENT\nseen O\nby O\nStone B-STAFF\n\nfile O\nA12 B-ID\nof O\nMay B-DATE\n\n"
TRIPS = "Ada NP O\nin IN O\nCAPE NP B-PLACE\nTown NP I-PLACE\n\nnear IN O\nOslo NP B-PLACE\nMr NP O\nYork NP O\n\n"
SOURCES = (
    "Ada people B-PER\nmet people O\nBob people B-PER\n\nin places O\nBonn places B-LOC\nat gold O\nAcme gold B-ORG\n\n"
)
TAUGHT = "".join(
    json.dumps({"word": words, "trust": [trust] * 3, "teacher": [teacher] * 3, "ner": labels}) + "\n"
    for words, trust, teacher, labels in (
        (["Ada", "met", "Bob"], 2.0, [0.2] * 5, ["B-PER", "O", "B-PER"]),
        (["in", "Bonn", "then"], 2.0, [0.2] * 5, ["O", "B-LOC", "O"]),
        (["then", "to", "work"], 0.5, [0.05, 0.0, 0.05, 0.0, 0.9], ["_", "_", "_"]),
    )
)
SHAPES = {"a": ((4, 5), 0.5), "b": ((6,), -1.0), "c": ((5, 7), 2.0)}
LETTERS = "".join(
    json.dumps(
        {
            "pixels": [[int(n < 4 or n in SHAPES[own][0]) for n in range(8)] for own in word],
            "slant": [[SHAPES[own][1], 1.0] for own in word],
            "letter": list(word),
        }
    )
    + "\n"
    for word in ("abc", "cab", "bb")
)
SIGNALS = "time,ax,ay,az,gx,gy,gz,activity\n" + "".join(
    f"{t},{t % 7},{t % 3 if t % 5 else ''},{1000 + t % 4},{t % 2},{t % 11},{t if t > 29 else ''},{doing}\n"
    for t, doing in enumerate(["sit"] * 40 + ["run"] * 40)
)
CASES = {  # template: data of its shape, its labels
    "linear_chain": (CHUNKS, ["chunk"]),
    "second_order": (CHUNKS, ["chunk"]),
    "factorial": (CHUNKS, ["pos", "chunk"]),
    "three_layer_factorial": (ENTITIES, ["pos", "chunk", "entity"]),
    "morphology": (MORPHOLOGY, ["upos", "case", "number", "poss"]),
    "tagger": (MORPHOLOGY, ["tag"]),
    "skip_chain": (NAMES, ["ner"]),
    "dependency_arcs": (MORPHOLOGY, ["deprel"]),
    "third_order": (RESIDUES, ["structure"]),
    "semi_markov": (RESIDUES, ["structure"]),
    "protein": (CROSSINGS, ["structure", "membrane"]),
    "slots_and_intent": (REQUESTS, ["slot", "intent"]),
    "hierarchical": (PHRASES, ["pos", "phrase"]),
    "memory": (ROLES, ["role"]),
    "address": (ADDRESSES, ["part"]),
    "latent": (ACTS, ["act"]),
    "few_labels": (FEW, ["ner"]),
    "piecewise": (CHUNKS, ["chunk"]),
    "bidirectional": (CHUNKS, ["chunk"]),
    "feature_bagging": (TAGS, ["tag"]),
    "criteria": (CHUNKS, ["chunk"]),
    "grid": (PICTURES, ["part"]),
    "chords": (MUSIC, ["key", "chord"]),
    "proven_names": (NAMES.replace("B-", "I-"), ["ner"]),
    "two_domains": (DOMAINS, ["news", "web"]),
    "three_sources": (SOURCES, ["ner"]),
    "soft_labels": (TAUGHT, ["ner"]),
    "measurements": (WARD, ["state"]),
    "activity": (SIGNALS, ["activity"]),
    "costs": (PERSONAL, ["span"]),
    "clinical_recall": (NOTES, ["phi"]),
    "gazetteer": (TRIPS, ["ner"]),
    "kernel_letters": (LETTERS, ["letter"]),
}
CRITERIA = [stage.label for stage in load_template(TEMPLATES / "criteria.dcrf").require().stages]


def test_the_cases_are_all_templates() -> None:
    assert {path.stem for path in TEMPLATES.glob("*.dcrf")} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_is_clean_canonical_and_says_what_it_is(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(TEMPLATES / f"{name}.dcrf")
    assert run(["fmt", "--check", path]) == 0
    assert run(["check", path]) == 0
    assert "warning" not in capsys.readouterr().err
    doc = load_template(path).require().doc
    assert "---" in "".join(doc) and "(20" in "".join(doc)  # a drawing of the graph, the year of a paper


COMPILING = {"address", "chords", "grid"}  # they need kernels that no other quick test does


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.long) if n in COMPILING else n for n in CASES])
def test_trains_saves_loads_and_predicts_the_same(name: str, tmp_path: Path) -> None:
    text, labels = CASES[name]
    file = tmp_path / "data"
    file.write_text(text if text.startswith("time,") else text * 3, encoding="utf-8")  # a table has one row of names
    resolved = load_template(TEMPLATES / f"{name}.dcrf")
    assert resolved.spec.data is not None
    corpus = read_corpus(file, resolved.spec.data)
    trained = fit(resolved, corpus)
    trained.save(tmp_path / "model")
    loaded = TrainedModel.load(tmp_path / "model")

    first, second = trained.predict(corpus), loaded.predict(corpus)
    assert list(first.codes) == labels
    for label in labels:
        np.testing.assert_array_equal(first.codes[label], second.codes[label])
        gold = [corpus.text_column(label).text(n) for n in range(corpus.num_tokens)]
        known = [n for n, text in enumerate(gold) if text != "_"]  # the mark of a missing label
        assert [first.texts(label)[n] for n in known] == [gold[n] for n in known]


@pytest.mark.parametrize("stage", some(CRITERIA, 5))
def test_every_criterion_of_the_comparison_trains(stage: str, tmp_path: Path) -> None:
    (tmp_path / "data").write_text(CHUNKS * 3, encoding="utf-8")
    path = str(TEMPLATES / "criteria.dcrf")
    assert run(["check", path, "--stage", stage, "--quiet"]) == 0
    resolved = load_template(path)
    assert resolved.spec.data is not None
    corpus = read_corpus(tmp_path / "data", resolved.spec.data)
    model = fit(resolved, corpus, stage=stage)
    assert model.record.stage == stage
    assert model.evaluate(corpus)["accuracy(chunk)"] == 1.0


@pytest.mark.parametrize(
    ("name", "stage"),
    [
        (name, stage.label)
        for name in ("costs", "clinical_recall")
        for stage in load_template(TEMPLATES / f"{name}.dcrf").require().stages
    ],
)
def test_every_stage_of_costs_trains(name: str, stage: str, tmp_path: Path) -> None:
    rows, (label,) = CASES[name]
    (tmp_path / "data").write_text(rows * 3, encoding="utf-8")
    resolved = load_template(TEMPLATES / f"{name}.dcrf")
    assert resolved.spec.data is not None
    corpus = read_corpus(tmp_path / "data", resolved.spec.data)
    assert fit(resolved, corpus, stage=stage).evaluate(corpus)[f"accuracy({label})"] == 1.0


def test_the_names_of_the_skip_chain_are_proven(tmp_path: Path) -> None:
    (tmp_path / "data").write_text(NAMES.replace("B-", "I-") * 3, encoding="utf-8")
    resolved = load_template(TEMPLATES / "proven_names.dcrf")
    assert resolved.spec.data is not None
    corpus = read_corpus(tmp_path / "data", resolved.spec.data)
    proven = fit(resolved, corpus).predict(corpus).certified
    assert proven is not None and proven.all()
