"""`standardize`, `scale` and statistics of windows: values, learned constants, and every door, by plain twins."""

from __future__ import annotations

import json
import math
import re
import sys
from importlib.util import module_from_spec, spec_from_file_location

import numpy as np
import pytest

from dcrfdsl import DcrfError, Template, check, cross_validate, fit, load, load_text, open_parts
from dcrfdsl.cli import run
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.data.corpus import Corpus
from dcrfdsl.export import export_tagger
from dcrfdsl.features import FeatureExtractor, Lexicons
from dcrfdsl.features.values import row_blocks
from dcrfdsl.features.values.number_values import NumberMoments
from dcrfdsl.features.values.window_statistics import STATISTICS, in_windows
from dcrfdsl.semantics.resolve.resolution import Resolved
from dcrfdsl.template import Term, apply, bins

DATA = 'data jsonl(x: float, k: int, word, y, missing = "")\nlabel y in {A, B}\n'
Sentences = list[dict[str, list]]

TWINS = {
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "spread": np.std,
    "change": lambda found: found[-1] - found[0],
}


def twin(name: str, numbers: np.ndarray, first: int, last: int) -> np.ndarray:
    """One window after the other."""
    out = np.full(len(numbers), np.nan)
    for t in range(len(numbers)):
        places = [p for p in range(t + first, t + last + 1) if 0 <= p < len(numbers) and not np.isnan(numbers[p])]
        if name == "slope" and len(places) > 1:
            out[t] = np.polyfit(places, numbers[places], 1)[0]
        elif name != "slope" and len(places) > (name == "spread"):
            out[t] = TWINS[name](numbers[places])
    return out


def drawn(seed: int, lengths=(1, 2, 7, 12, 3, 30)) -> Sentences:
    """Sentences with gaps, and labels that go by x, which is far from 0."""
    rng, rows = np.random.default_rng(seed), []
    for length in lengths:
        high = rng.random(length) < 0.5
        x = 1000.0 + 20.0 * high + rng.normal(0, 10, length)
        gap = rng.random(length) < 0.2
        rows.append(
            {
                "x": [None if missing else round(float(one), 3) for one, missing in zip(x, gap, strict=True)],
                "k": rng.integers(0, 9, length).tolist(),
                "word": [["a", "bcd", "7"][n] for n in rng.integers(0, 3, length)],
                "y": ["B" if one else "A" for one in high],
            }
        )
    return rows


def corpus_of(template: Resolved, rows: Sentences) -> Corpus:
    data = template.require().data
    assert data is not None
    return corpus_from_rows(rows, data)


def x_of(rows: Sentences) -> list[np.ndarray]:
    return [np.array([np.nan if one is None else one for one in row["x"]]) for row in rows]


# windows ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize(("first", "last"), [(-3, 3), (0, 0), (-2, -1), (1, 4), (-40, 25), (33, 40), (-1, 0), (-7, 5)])
def test_a_statistic_is_that_of_each_window(name, first, last):
    rng = np.random.default_rng(abs(first) + last)
    for length in (1, 2, 5, 31):
        numbers = np.where(rng.random((2, length)) < 0.3, np.nan, rng.normal(5, 3, (2, length)))
        expected = [twin(name, row, first, last) for row in numbers]
        np.testing.assert_allclose(in_windows(name, numbers, first, last), expected, rtol=1e-9, atol=1e-9)


def test_rounding_does_not_travel_and_long_recordings_are_read():
    """A spike of 1e15, and 30,000 numbers far from 0: what lies beyond the window leaves no trace."""
    rng = np.random.default_rng(0)
    numbers = 1e6 + rng.normal(size=30_000)
    spiked = numbers.copy()
    spiked[100] = 1e15
    for name in STATISTICS:
        calm = in_windows(name, numbers, -50, 49)
        assert np.array_equal(in_windows(name, spiked, -50, 49)[200:], calm[200:])
        far = slice(20_000, 20_020)
        expected = twin(name, numbers[19_900:20_120] - 1e6, -50, 49)[100:120] + 1e6 * (name in ("mean", "max", "min"))
        np.testing.assert_allclose(calm[far], expected, rtol=0, atol=1e-8)


def test_numbers_beyond_64_bits_are_missing():
    numbers = np.array([-1.7e308, 1.7e308, np.nan, 0.0])
    assert np.isnan(in_windows("change", numbers, -1, 0)[1]) and in_windows("change", numbers, 0, 0)[1] == 0.0
    with pytest.raises(DcrfError, match="too large to be brought to scale"):
        NumberMoments.of(numbers, np.arange(4)).scale(apply("standardize", "x").node)


# features --------------------------------------------------------------------------------------------------------


def standard(numbers: list[np.ndarray], known: list[np.ndarray] | None = None) -> list[np.ndarray]:
    every = np.concatenate(known or numbers)
    return [(one - np.nanmean(every)) / np.nanstd(every) for one in numbers]


def shifted(numbers: list[np.ndarray], offset: int) -> list[np.ndarray]:
    out = []
    for one in numbers:
        out.append(np.full(len(one), np.nan))
        for t in range(len(one)):
            if 0 <= t + offset < len(one):
                out[-1][t] = one[t + offset]
    return out


def windows(name: str, numbers: list[np.ndarray], first: int, last: int) -> list[np.ndarray]:
    return [twin(name, one, first, last) for one in numbers]


NUMBERS = {
    "standardize(x)": standard,
    "standardize(x)[-1]": lambda x: shifted(standard(x), -1),
    "standardize(x[2])[-1]": lambda x: shifted(standard(x), 1),
    "scale(x)": lambda x: [one / np.nanmax(np.abs(np.concatenate(x))) for one in x],
    "mean(x[-3..3])": lambda x: windows("mean", x, -3, 3),
    "max(x[-2..0])[1]": lambda x: shifted(windows("max", x, -2, 0), 1),
    "standardize(slope(x[-2..2]))": lambda x: standard(windows("slope", x, -2, 2)),
    "mean(standardize(x)[-3..3])": lambda x: windows("mean", standard(x), -3, 3),
    "max(mean(x[-1..1])[-2..2])": lambda x: windows("max", windows("mean", x, -1, 1), -2, 2),
    "standardize(spread(x[-4..-1]))[1]": lambda x: shifted(standard(windows("spread", x, -4, -1)), 1),
}


@pytest.mark.parametrize("term", NUMBERS)
def test_a_feature_has_the_number_and_a_gap_its_own(term, monkeypatch):
    """Values at each token, of training data and by the constants of the training, in small blocks."""
    monkeypatch.setattr(row_blocks, "ROWS", 8)
    template, rows = load_text(f"{DATA}clique y: {term}"), drawn(1)
    extractor, learned = FeatureExtractor.learn(template.require(), corpus_of(template, rows), resources=Lexicons())
    found = {extractor.describe(0, n): n for n in range(extractor.sets[0].num_features)}
    name = "standardize(x)[1]" if term == "standardize(x[2])[-1]" else term
    number, gap = found.pop(name), found.pop(f"{name} is missing", -1)
    assert not found
    for one in (learned, extractor.extract(corpus_of(template, rows))):
        values = [
            {int(f): float(v) for f, v in zip(one[0].feature[a:b], one[0].value[a:b], strict=True)}
            for a, b in zip(one[0].row_off, one[0].row_off[1:], strict=False)
        ]
        expected = np.concatenate(NUMBERS[term](x_of(rows)))
        np.testing.assert_allclose([row.get(number, 0.0) for row in values], np.nan_to_num(expected), atol=1e-9)
        inside = np.concatenate(
            shifted([np.zeros(len(row["x"])) for row in rows], int((re.findall(r"\[(-?1)\]$", name) or [0])[0]))
        )
        assert [gap in row for row in values] == (np.isnan(expected) & ~np.isnan(inside)).tolist()


def test_comparisons_bins_and_crosses_of_numbers():
    text = (
        "clique y: bin(mean(x[-1..1]), 1000, 1010), slope(x[-1..1]) > 0, scale(k) & word, scale(k) = one, "
        "standardize(x) - standardize(x)[-1] >= 1 & word, bin(standardize(x), 2)"
    )
    template, rows = load_text(f"{DATA}let one = 1\n{text}"), drawn(2)
    extractor, (found, *_) = FeatureExtractor.learn(template.require(), corpus_of(template, rows), resources=Lexicons())
    x = x_of(rows)
    mean, slope, z = (
        np.concatenate(windows("mean", x, -1, 1)),
        np.concatenate(windows("slope", x, -1, 1)),
        standard(x),
    )
    step = np.concatenate([a - b for a, b in zip(z, shifted(z, -1), strict=True)])
    z, k = np.concatenate(z), np.concatenate([row["k"] for row in rows])
    words = [word for row in rows for word in row["word"]]
    ((edge,),) = [edges for name, edges in extractor.learned.items() if name.startswith("bin")]
    assert abs((z >= edge).sum() - (z < edge).sum()) <= 1
    for n in range(len(k)):
        wanted = {"slope(x[-1..1]) > 0"} if slope[n] > 0 else set()
        if not np.isnan(mean[n]):
            low = "[-inf,1000)" if mean[n] < 1000 else "[1000,1010)" if mean[n] < 1010 else "[1010,inf)"
            wanted.add(f"bin(mean(x[-1..1]), 1000, 1010)={low}")
        if step[n] >= 1:
            wanted.add(f"standardize(x) - standardize(x)[-1] >= 1 & word={words[n]}")
        if not np.isnan(z[n]):
            wanted.add(
                f"bin(standardize(x), 2)={'[-inf,' if z[n] < edge else '['}{edge!r}{')' if z[n] < edge else ',inf)'}"
            )
        wanted |= {f"scale(k) & word={words[n]}"} if k[n] else set()
        wanted |= {"scale(k) = 1"} if k[n] == k.max() else set()
        assert {extractor.describe(0, f) for f in found.feature[found.row_off[n] : found.row_off[n + 1]]} == wanted


def test_weights_are_those_of_data_that_were_standardized_by_hand():
    rows = drawn(3, (9,) * 20)
    text = "clique y: bias, {0}, {0}[-1]\nclique y[-1], y\n"
    ours, theirs = (load_text(DATA + text.format(term)) for term in ("standardize(x)", "x"))
    by_hand = [
        {**row, "x": [None if np.isnan(one) else float(one) for one in z]}
        for row, z in zip(rows, standard(x_of(rows)), strict=True)
    ]
    one, other = fit(ours, corpus_of(ours, rows), threads=1), fit(theirs, corpus_of(theirs, by_hand), threads=1)
    np.testing.assert_allclose(one.weights, other.weights, atol=1e-5)


# what is learned --------------------------------------------------------------------------------------------------

LEARNS = (
    "clique y: bias, standardize(x)[-1..1], scale(k) & word, standardize(mean(x[-2..2])), max(standardize(x)[0..2])\n"
    "clique y[-1], y: slope(x[-1..1]) > 1\nforbid y is A when standardize(k) > 9\n"
)


def test_constants_hold_for_other_data_and_stay_in_the_model(tmp_path, capfd):
    template, rows = load_text(DATA + LEARNS), drawn(4)
    model = fit(template, corpus_of(template, rows), threads=1)
    known, counts = np.concatenate(x_of(rows)), np.concatenate([row["k"] for row in rows])
    expected = {
        "standardize(x)": (np.nanmean(known), np.nanstd(known)),
        "scale(k)": (0.0, counts.max()),
        "standardize(mean(x[-2..2]))": None,
        "standardize(k)": (counts.mean(), counts.std()),  # a condition alone reads it
    }
    assert set(model.extractor.learned) == set(expected)
    for name, pair in expected.items():
        assert pair is None or model.extractor.learned[name] == pytest.approx(pair, rel=1e-12)
    model.save(tmp_path / "x.model")
    again, other = load(tmp_path / "x.model"), corpus_of(template, drawn(5))
    assert again.extractor.learned == model.extractor.learned
    np.testing.assert_array_equal(again.marginals(other)[0]["y"], model.marginals(other)[0]["y"])
    assert run(["show", str(tmp_path / "x.model")]) == 0
    shift, unit = model.extractor.learned["standardize(x)"]
    assert f"standardize(x) is (the number {-shift:+.6g}) / {unit:.6g}\n" in capfd.readouterr().err
    metadata = model.extractor.metadata()
    for wrong in ([1.0], [1.0, 0.0], [1.0, math.nan], [1.0, -2.0]):
        spoilt = {**metadata, "bins": {**metadata["bins"], "scale(k)": wrong}}
        with pytest.raises(Exception, match="means and spreads"):
            FeatureExtractor.restore(template.require(), model.extractor.arrays(), spoilt)


@pytest.mark.parametrize("values", [[5.0, 5.0, None], [None, None, None], [0.0, 0.0, 0.0]])
def test_numbers_without_spread_are_divided_by_1(values):
    template = load_text(f"{DATA}clique y: bias, standardize(x), scale(x), word")
    row = {"x": values, "k": [1, 2, 3], "word": ["a", "b", "c"], "y": ["A", "B", "A"]}
    model = fit(template, corpus_of(template, [row]), threads=1)
    level = next((one for one in values if one is not None), 0.0)
    assert model.extractor.learned == {"standardize(x)": (level, 1.0), "scale(x)": (0.0, level or 1.0)}


def test_parts_learn_what_the_whole_does(tmp_path):
    text = DATA + LEARNS.replace("bias,", "bias, bin(standardize(x), -1, 0, 1),")
    file, rows = tmp_path / "data.jsonl", drawn(6, (5,) * 12)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    template = load_text(text)
    whole = fit(template, corpus_of(template, rows), threads=1)
    parts = open_parts(file, template, part_tokens=20, cache=tmp_path / "cache")
    assert len(parts.parts) == 3
    for _ in range(2):  # learned, then found in the cache
        model = fit(template, parts, threads=1)
        for name, pair in whole.extractor.learned.items():
            assert model.extractor.learned[name] == pytest.approx(pair, rel=1e-12)
        np.testing.assert_allclose(model.weights, whole.weights, atol=1e-5)


def test_folds_learn_from_the_other_folds_alone(monkeypatch):
    template, rows = load_text(f"{DATA}clique y: bias, standardize(x)"), drawn(7, (6,) * 12)
    seen = []
    learn = FeatureExtractor.learn.__func__

    def watched(cls, spec, corpus, **how):
        extractor, found = learn(cls, spec, corpus, **how)
        seen.append((corpus.columns["x"].values, extractor.learned["standardize(x)"]))
        return extractor, found

    monkeypatch.setattr(FeatureExtractor, "learn", classmethod(watched))
    cross_validate(template, corpus_of(template, rows), folds=3, threads=1)
    assert len(seen) == 3 and len({pair for _, pair in seen}) == 3
    for values, pair in seen:
        assert len(values) == 48 and pair == pytest.approx((np.nanmean(values), np.nanstd(values)), rel=1e-12)


# doors ------------------------------------------------------------------------------------------------------------


def test_an_exported_tagger_has_the_constants(tmp_path, monkeypatch):
    text = DATA + LEARNS.replace(
        "bias,", "bias, bin(change(x[-2..2]), 3), mean(x[-1..1])[1] is missing, standardize(x) = x,"
    )
    template = load_text(text)
    model = fit(template, corpus_of(template, drawn(8)), threads=1)
    model = model.with_weights(np.random.default_rng(0).normal(0, 1, model.num_weights), model.record)
    export_tagger(model, tmp_path / "standalone_numbers.py")
    spec = spec_from_file_location("standalone_numbers", tmp_path / "standalone_numbers.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "standalone_numbers", module)
    spec.loader.exec_module(module)
    tagger, rows = module.Tagger(), drawn(9, (1, 2, 9, 17, 4))
    predicted = model.predict(corpus_of(template, rows)).texts("y")
    assert [label for row in rows for label in tagger.tag(row)] == list(predicted)


def test_the_builder_writes_the_same():
    m = Template()
    x, k, word, _ = m.data("jsonl", "x:float", "k:int", "word", "y", options={"missing": ""})
    y = m.label("y", ["A", "B"])
    level = apply("mean", x.window(-3, 3))
    m.clique(
        y,
        features=[
            apply("standardize", x).window(-1, 1),
            apply("scale", k) & word,
            bins(level, 4),
            apply("standardize", level) > 0,
            level[1],
        ],
    )
    text = (
        "clique y: standardize(x)[-1..1], scale(k) & word, bin(mean(x[-3..3]), 4), standardize(mean(x[-3..3])) > 0, "
        "mean(x[-3..3])[1]"
    )
    assert m.spec() == load_text(f"{DATA}{text}").spec and isinstance(k, Term)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("clique y: bias, standardize(x)\nclique y[-1], y\ntrain hmm", "`standardize` is a number"),
        ("segment y up to 4: standardize(length)\nclique y[-1], y", "a segment has several"),
        ("segment y up to 4: bin(length, 2)\nclique y[-1], y", "a segment has several"),
        ("clique y: standardize(mean(scale(x)[-1..1]))", "one of them is enough"),
        ("clique y: mean(standardize(x)[-1])", "a number and its window"),
    ],
)
def test_what_is_refused_is_said(text, says):
    label = "bio(A)" if "segment" in text else "{A, B}"
    (found,) = check(load_text(DATA.replace("{A, B}", label) + text))
    assert says in found.message and found.severity == "error"
