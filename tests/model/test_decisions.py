"""Sets with a promise against enumeration, their coverage, operating points by hand, what keeps and what loses them."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers import EXAMPLES, SHARED
from model_cases import trained
from scipy.stats import betabinom, kstest
from template_cases import CASES, Case, sentences
from test_confidences import MODELS, SEGMENTED, probabilities

from dcrfdsl import DcrfError, fit, load, load_template, read_corpus
from dcrfdsl.inference import Workers
from dcrfdsl.metrics.selection import conformal_bound

COVER = 0.6


def spans(texts: list[str]) -> list[tuple[int, int, str]]:
    """The segments of a sentence of B-, I- and O, by conlleval's rules."""
    found: list[list] = []
    for t, text in enumerate(texts):
        mark, _, kind = text.partition("-")
        goes_on = mark == "I" and t > 0 and texts[t - 1] != "O" and texts[t - 1].partition("-")[2] == kind
        if goes_on:
            found[-1][1] = t
        elif mark != "O":
            found.append([t, t, kind])
    return [tuple(one) for one in found]


def units(labellings, p, label, of, length):
    """The probability of each thing that may be in a set: states of tokens, segments, labellings."""
    sums: dict = {}
    for one, share in zip(labellings, p.tolist(), strict=True):
        if of == "tokens":
            keys = [(t, one[label][t]) for t in range(length)]
        else:
            keys = spans(one[label]) if of == "segments" else [tuple(tuple(one[name]) for name in label)]
        for key in keys:
            sums[key] = sums.get(key, 0.0) + share
    return sums


@pytest.mark.parametrize("of", ["tokens", "segments", "sentences"])
@pytest.mark.parametrize("name", MODELS)
def test_sets_are_those_of_enumeration(name: str, of: str) -> None:
    case = MODELS[name]
    model, corpus = trained(case, scale=1.5)
    marked = [label for label in model.labels if any("-" in state for state in model.states[label])]
    labels = {"tokens": list(model.labels), "segments": marked, "sentences": [model.labels]}[of]
    if not labels:
        with pytest.raises(DcrfError, match="sets of `segments` cannot be promised"):
            model.decisions.with_sets(corpus, COVER, of=of)
        return
    names = [column.name for column in model.spec.data.columns]
    every, worst = [], {label: [] for label in labels}
    for number, sentence in enumerate(case.sentences):
        labellings, p = probabilities(model, case, number)
        every.append({label: units(labellings, p, label, of, len(sentence)) for label in labels})
        others = {label.name: label.others for label in model.spec.labels}
        gold = {
            label: [text if text in model.states[label] else others[label] for text in texts]
            for label, texts in ((label, [row[names.index(label)] for row in sentence]) for label in model.labels)
        }
        for label in labels:
            truths = units([gold], np.ones(1), label, of, len(sentence))
            if truths:
                worst[label].append(max(-math.log(every[-1][label].get(one, 0.0) or 1e-320) for one in truths))
    with_sets = model.decisions.with_sets(corpus, COVER, of=of)
    found = with_sets.sets(corpus)
    assert with_sets.sets(corpus, threads=2) == found and all(one.whole for one in found)
    for threshold, label in zip(with_sets.decisions.promised, labels, strict=True):
        bound = conformal_bound(np.array(worst[label]), COVER)
        assert threshold.count == len(worst[label]) and threshold.least == pytest.approx(math.exp(-bound), rel=1e-6)
        for one, sums in zip(found, every, strict=True):
            inside = {key for key, share in sums[label].items() if share >= threshold.least}
            if of == "tokens":
                assert {(t, state) for t, states in enumerate(one.tokens[label]) for state in states} == inside
            elif of == "segments":
                mine = {(s.first, s.last, s.type): s.probability for s in one.segments if s.label == label}
                assert mine == {key: pytest.approx(sums[label][key]) for key in inside}
            else:
                texts = [ranked.labels for ranked in one.labellings]
                texts = [dict.fromkeys(label, own) if isinstance(own, list) else own for own in texts]
                assert {tuple(tuple(own[name]) for name in label) for own in texts} == inside


def drawn(count: int) -> tuple:
    """A model, and data from another one: its own probabilities are far off."""
    model, _ = trained(SEGMENTED, scale=2.0)
    case = Case(SEGMENTED.text, sentences(("B-X", "I-X", "B-Y", "I-Y", "O"), "PQ", count=count, longest=5, seed=8))
    flatter = model.with_weights(0.3 * model.weights, model.record)
    codes = flatter.sample(case.corpus(), 1, seed=3).codes
    texts = [[model.states[label][code] for code in codes[label][0].tolist()] for label in model.labels]
    labels = iter(list(zip(*texts, strict=True)))
    rows = [[(row[0], *next(labels)) for row in sentence] for sentence in case.sentences]
    return model, Case(SEGMENTED.text, rows)


def law_holds(scores: np.ndarray, cover: float, splits: int = 1000, seed: int = 0) -> float:
    """The mean share that is covered in random halves, if it is as promised and beta-binomial."""
    generator, held_out = np.random.default_rng(seed), len(scores) // 2
    scores = scores + 1e-9 * generator.random(len(scores))  # none are equal
    covered = []
    for _ in range(splits):
        mixed = generator.permutation(scores)
        covered.append(int((mixed[held_out:] <= conformal_bound(mixed[:held_out], cover)).sum()))
    rank, rest = math.ceil((held_out + 1) * cover - 1e-9), len(scores) - held_out
    law = betabinom(rest, rank, held_out + 1 - rank)
    smooth = law.cdf(np.array(covered) - 1) + generator.random(splits) * law.pmf(covered)  # uniform under the law
    assert kstest(smooth, "uniform").pvalue > 0.01
    assert cover - 0.005 < np.mean(covered) / rest < cover + 0.005 + 1 / (held_out + 1)
    return float(np.mean(covered) / rest)


def test_coverage_is_as_promised_though_probabilities_are_wrong() -> None:
    model, case = drawn(400)
    for of, by_type in (("tokens", False), ("segments", True)):
        found = model.decisions._worst(case.corpus(), of, by_type, Workers(2))
        assert set(found) == ({("y", "X"), ("y", "Y")} if by_type else {("y", ""), ("z", "")})
        for scores in found.values():
            law_holds(scores, 0.9)
    half = case.corpus().slice(0, 200), case.corpus().slice(200, 400)
    with_sets, gold = model.decisions.with_sets(half[0], 0.9), half[1].columns["y"]
    held, off = [], half[1].sentence_off
    for s, one in enumerate(with_sets.sets(half[1])):
        held.append(all(gold.text(off[s] + t) in states for t, states in enumerate(one.tokens["y"])))
    assert betabinom(200, 181, 20).ppf(0.001) <= sum(held) <= betabinom(200, 181, 20).ppf(0.999)


@pytest.mark.long
@pytest.mark.skipif(not (SHARED / "data").is_dir(), reason="the real corpora are not on this machine")
def test_coverage_is_as_promised_on_real_data() -> None:
    resolved = load_template(EXAMPLES / "08_crfsuite_chunking.dcrf", ["train.optimizer=lbfgs(max_iterations=30)"])
    data, folder = resolved.require().data, SHARED / "data" / "conll2000"
    model = fit(resolved, read_corpus(folder / "train.txt", data).slice(0, 1000))
    test = read_corpus(folder / "test.txt", data)
    for of in ("tokens", "segments", "sentences"):
        for scores in model.decisions._worst(test, of, False, Workers(2)).values():
            print(of, law_holds(scores, 0.9), law_holds(scores, 0.95, seed=1))


# what is held out ---------------------------------------------------------------------------------------------------

PLAIN = (
    'data conll(word, y)\nlabel y in {P, Q, R} with missing = "?", ambiguous = "|"\nclique y: bias, word\n'
    "clique y[-1], y\n"
)


def test_unknown_labels_are_left_out_and_impossible_ones_break_a_promise() -> None:
    rows = sentences("PQR", count=30)
    model, _ = trained(Case(PLAIN, rows))
    full = model.decisions.with_sets(Case(PLAIN, rows).corpus(), 0.8).decisions.promised
    more = [*rows, [("a", "?"), ("b", "P")], [("a", "P|Q")]]
    assert model.decisions.with_sets(Case(PLAIN, more).corpus(), 0.8).decisions.promised == full
    strange = [*rows, *[[("a", "S")]] * 5]
    (threshold,) = model.decisions.with_sets(Case(PLAIN, strange).corpus(), 0.8).decisions.promised
    assert threshold.count == 35 and threshold.least < full[0].least
    by_type = model.decisions.with_sets(Case(PLAIN, strange).corpus(), 0.8, by_type=True).decisions.promised
    assert [one.type for one in by_type] == ["P", "Q", "R"] and all(one.count <= 30 for one in by_type)
    for held_out, words in (
        ([*rows, *[[("a", "S")]] * 15], "the truth is impossible for the model"),
        (rows[:3], "takes 4 sentences with known labels; `<rows>` has 3"),
        ([[("a", "?")]], "has 0"),
    ):
        with pytest.raises(DcrfError, match=words):
            model.decisions.with_sets(Case(PLAIN, held_out).corpus(), 0.8)


def test_a_type_with_too_few_sentences_has_no_bound() -> None:
    rows = [*sentences("PQ", count=30), [("a", "R"), ("b", "P")]]
    model, corpus = trained(Case(PLAIN, rows))[0], Case(PLAIN, rows).corpus()
    with_sets = model.decisions.with_sets(corpus, 0.8, by_type=True)
    assert [one.least is None for one in with_sets.decisions.promised] == [False, False, True]
    assert all("R" in states for one in with_sets.sets(corpus) for states in one.tokens["y"])


def test_large_sets_are_cut_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    model, case = drawn(60)
    monkeypatch.setattr("dcrfdsl.model.decisions.MOST", 10)
    for of in ("segments", "sentences"):
        sets = model.decisions.with_sets(case.corpus(), 0.9, of=of).sets(case.corpus())
        sizes = [len(one.segments) + len(one.labellings) for one in sets]
        assert not all(one.whole for one in sets) and max(sizes) <= 10
        assert all(one.whole or of == "segments" or size == 10 for one, size in zip(sets, sizes, strict=True))


@pytest.mark.parametrize(
    ("cover", "of", "words"),
    [(0.0, "tokens", "promised"), (1.0, "tokens", "promised"), (0.5, "layers", "sets of `layers`")],
)
def test_what_cannot_be_promised_is_refused(cover: float, of: str, words: str) -> None:
    model, corpus = trained(SEGMENTED)
    with pytest.raises(DcrfError, match=words):
        model.decisions.with_sets(corpus, cover, of=of)


def test_labellings_of_a_loopy_model_are_refused_and_its_tokens_are_not() -> None:
    case = CASES["skip chain"]
    text = case.text + "infer bp(max_table = 2)\n" if "infer" not in case.text else case.text
    loopy = replace(case, text=text)
    model, corpus = trained(loopy)
    if not model.decisions.with_sets(corpus, 0.5).sets(corpus):
        raise AssertionError
    if math.isnan(model.nbest(corpus, 1).sentences[-1].probability[0]):
        with pytest.raises(DcrfError, match="no exact probabilities"):
            model.decisions.with_sets(corpus, 0.5, of="sentences")


# operating points ---------------------------------------------------------------------------------------------------


def test_points_are_those_of_a_computation_by_hand() -> None:
    model, case = drawn(120)
    corpus, names = case.corpus(), ("word", "y", "z")
    sure, off = model.calibration.confidences(corpus), corpus.sentence_off
    gold = [{name: [row[n] for row in sentence] for n, name in enumerate(names)} for sentence in case.sentences]
    texts = model.predict(corpus).texts("z")
    found = {
        "y.X": [
            (s.probability, (s.first, s.last, "X") in spans(own["y"]))
            for one, own in zip(sure, gold, strict=True) for s in one.segments if (s.label, s.type) == ("y", "X")
        ],
        "z.P": [
            (p, own["z"][t] == "P")
            for s, (one, own) in enumerate(zip(sure, gold, strict=True))
            for t, p in enumerate(one.tokens["z"].tolist()) if texts[off[s] + t] == "P"
        ],
    }  # fmt: skip
    golds = {"y.X": sum(kind == "X" for own in gold for *_, kind in spans(own["y"])),
             "z.P": sum(own["z"].count("P") for own in gold)}  # fmt: skip
    most = {name: sum(right for _, right in pairs) / golds[name] for name, pairs in found.items()}
    targets = {"recall": {"y.X": 0.7 * most["y.X"], "z.P": 0.5 * most["z.P"]}, "precision": {"y.X": 0.3, "z.P": 0.45}}
    for measure, asked in targets.items():
        points = model.decisions.with_points(corpus, **{measure: asked}).decisions.points
        for point, (name, target) in zip(points, asked.items(), strict=True):
            pairs, shares = found[name], {}
            for least, _ in pairs:
                taken = [right for p, right in pairs if p >= least]
                shares[least] = sum(taken) / (golds[name] if measure == "recall" else len(taken)), len(taken)
            good = [p for p, (share, _) in shares.items() if share >= target]
            wanted = max(good) if measure == "recall" else min(good)
            assert point.least == pytest.approx(wanted, rel=1e-6) and (point.found, point.count) == shares[wanted]
            accepts = [model.decisions.accepts(point.label, point.type, 1.0)]
            assert accepts == [None]
    with pytest.raises(DcrfError, match=f"is at most {most['y.X']:.4f}"):
        model.decisions.with_points(corpus, recall={"y.X": 1.0})


REFUSED = {
    "two shares": {"recall": {"y.X": 0.1}, "precision": {"y.X": 0.1}},
    "no type `X`": {"recall": {"X": 0.1}},
    "1.5 is no precision": {"precision": {"y.X": 1.5}},
    "no type `y.O`": {"precision": {"y.O": 0.5}},
}


@pytest.mark.parametrize("words", REFUSED)
def test_points_that_cannot_be_are_refused(words: str) -> None:
    model, case = drawn(20)
    with pytest.raises(DcrfError, match=words):
        model.decisions.with_points(case.corpus(), **REFUSED[words])


# keeping ------------------------------------------------------------------------------------------------------------


def test_they_are_kept_in_files_and_lost_with_the_probabilities(tmp_path: Path) -> None:
    model, case = drawn(60)
    corpus = case.corpus()
    careful = model.decisions.with_sets(corpus, 0.9).decisions.with_points(corpus, precision={"z.P": 0.1})
    again = careful.decisions.with_sets(corpus, 0.8, of="segments")
    assert [one.use for one in again.record.thresholds] == ["precision", "cover"]
    careful.save(tmp_path / "m")
    stored = load(tmp_path / "m")
    assert stored.record.thresholds == careful.record.thresholds and stored.sets(corpus) == careful.sets(corpus)
    assert stored.decisions.accepts("z", "P", 1.0) and stored.decisions.accepts("z", "Q", 1.0) is None
    for lost in (
        careful.with_weights(0.5 * careful.weights, careful.record),
        careful.calibration.calibrated(corpus),
        careful.calibration.calibrated(corpus, method="isotonic"),
    ):
        with pytest.raises(DcrfError, match="no sets with a promise"):
            lost.sets(corpus)
        with pytest.raises(DcrfError, match="no operating point"):
            _ = lost.decisions.points
