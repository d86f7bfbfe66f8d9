"""`examples/lafferty2001`: its sources, the arithmetic of its tables, and a small run of the whole."""

from __future__ import annotations

import itertools
import json
import math
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import ROOT, example_modules
from scipy import stats

from dcrfdsl import corpus_from_rows, fit, load_template
from dcrfdsl.cli import run as dcrfdsl_command

FOLDER = ROOT / "examples" / "lafferty2001"
TEMPLATES = ("label_bias", "mixed_edges", "mixed_states", "pos", "pos_hmm", "pos_spelling")
STEMS = {"NN": ["d", "h", "c", "p"], "VB": ["s", "l", "r", "w"]}
ENDS = {"NN": "ity", "VB": "ing"}


sources, experiments, tables, figure, run = example_modules(FOLDER, "sources", "experiments", "tables", "figure", "run")


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_check_clean_and_are_in_the_canonical_layout(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(FOLDER / f"{name}.dcrf")
    assert dcrfdsl_command(["check", path, "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert dcrfdsl_command(["fmt", "--check", "--quiet", path]) == 0


# the automaton ----------------------------------------------------------------------------------------------------


def emission(word: str, shown: str) -> float:
    return math.prod(29 / 32 if own == other else 1 / 32 for own, other in zip(word, shown, strict=True))


@pytest.mark.parametrize("share", [0.5, 0.58, 0.9, 0.3])
def test_the_best_tagger_takes_the_likelier_word(share: float) -> None:
    expected = 0.0
    for shown in map("".join, itertools.product("ribo", repeat=3)):
        joint = {"123": share * emission("rib", shown), "453": (1 - share) * emission("rob", shown)}
        assert joint[sources.best_path(shown, share)] == pytest.approx(max(joint.values()))
        expected += min(joint.values())
    assert sources.least_error(share) == pytest.approx(expected)


def test_noise_is_what_the_paper_says() -> None:
    count = 20_000
    words = sources.noisy_words(np.random.default_rng(0), count, 0.58)
    paths = Counter("".join(state for _, state in word) for word in words)
    assert set(paths) == {"123", "453"}
    assert paths["123"] / count == pytest.approx(0.58, abs=4 * 0.0035)
    own = {"1": "r", "2": "i", "3": "b", "4": "r", "5": "o"}
    shown = Counter(word[place] for word in words for place in range(3))
    for state, symbol in itertools.product(own, "ribo"):
        total = sum(shown[other, state] for other in "ribo")
        expected = 29 / 32 if own[state] == symbol else 1 / 32
        assert shown[symbol, state] / total == pytest.approx(
            expected, abs=4 * math.sqrt(expected * (1 - expected) / total)
        )


@pytest.fixture(scope="module")
def bias() -> list[dict[str, Any]]:
    return list(experiments.label_bias(experiments.BiasPlan((0.5, 0.58), 2, 2000, 4000), seed=0, threads=1))


@pytest.mark.long
def test_the_crf_is_near_the_best_tagger_and_the_memm_is_not(bias: list[dict[str, Any]]) -> None:
    for record in bias:
        errors = {model: own["words"] for model, own in record["models"].items()}
        assert abs(errors["crf"] - errors["best"]) < 1.0
        assert abs(errors["crf"] - tables.PAPER_BIAS["crf"]) < 3.0
        assert abs(errors["memm"] - 100.0 * (1.0 - record["share"])) < 3.0, "it takes one word for all"
        for own in record["models"].values():
            assert own["states"] == pytest.approx(own["words"] * 2 / 3), "1 and 2, or 4 and 5, but never 3"


@pytest.mark.long
def test_algorithm_s_and_lbfgs_end_at_one_optimum(bias: list[dict[str, Any]]) -> None:
    for record in bias:
        scaled, best = (record["models"][name] for name in ("crf", "crf_lbfgs"))
        assert scaled["objective"] == pytest.approx(best["objective"], rel=1e-4)
        assert scaled["iterations"] > best["iterations"]


def test_the_memm_hears_the_first_symbol_alone_and_the_crf_the_second() -> None:
    """On all words of three symbols; for the CRF those that begin as words do, since of others it has seen few."""
    resolved = load_template(FOLDER / "label_bias.dcrf")
    data = resolved.require().data
    assert data is not None
    train = corpus_from_rows(sources.noisy_words(np.random.default_rng(1), 1000, 0.5), data)
    shown = ["".join(word) for word in itertools.product("ribo", repeat=3)]
    every = corpus_from_rows([[(symbol, "1") for symbol in word] for word in shown], data)
    paths: dict[str, list[str]] = {}
    for stage, decode in (("memm", "local"), ("crf", "joint")):
        found = fit(resolved, train, stage=stage, threads=1).predict(every, threads=1, decode=decode).texts("state")
        paths[stage] = ["".join(found[n : n + 3]) for n in range(0, len(found), 3)]
        assert set(paths[stage]) <= {"123", "453"}
    for symbol in "ribo":
        assert len({path for word, path in zip(shown, paths["memm"], strict=True) if word[0] == symbol}) == 1
    for symbol, expected in (("i", "123"), ("o", "453")):
        heard = {path for word, path in zip(shown, paths["crf"], strict=True) if word[:2] == f"r{symbol}"}
        assert heard == {expected}


# sources of mixed order -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("supports", sources.SUPPORTS)
def test_rows_are_sparse_distributions(supports: str) -> None:
    source = sources.MixedOrder.drawn(np.random.default_rng(0), supports)
    for part, filled in ((source.moves1, 2), (source.moves2, 2), (source.symbols1, 3), (source.symbols2, 3)):
        np.testing.assert_allclose(part.sum(axis=-1), 1.0)
        assert ((part > 0.0).sum(axis=-1) == filled).all()
    mixed = 0.5 * source.moves2 + 0.5 * source.moves1
    widest = (mixed > 0.0).sum(axis=-1).max()
    assert widest == 2 if supports == "shared" else widest > 2


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0])
def test_sequences_have_the_frequencies_of_the_mixture(alpha: float) -> None:
    source = sources.MixedOrder.drawn(np.random.default_rng(1), "separate")
    drawn = source.sequences(np.random.default_rng(2), alpha, 2000, 12)
    x, y = (np.array([[token[n] for token in sequence] for sequence in drawn]) for n in (0, 1))
    labels, symbols = (np.array(list(text)) for text in (sources.LABELS, sources.SYMBOLS))
    codes, shown = np.searchsorted(labels, y), np.searchsorted(symbols, x)
    assert codes.shape == (2000, 12)
    moves = (
        codes[:, 2:],
        alpha * source.moves2[codes[:, :-2], codes[:, 1:-1]] + (1 - alpha) * source.moves1[codes[:, 1:-1]],
    )
    emitted = (
        shown[:, 1:],
        alpha * source.symbols2[shown[:, :-1], codes[:, 1:]] + (1 - alpha) * source.symbols1[codes[:, 1:]],
    )
    for values, chances in (moves, emitted):
        own = np.take_along_axis(chances, values[..., None], axis=-1)[..., 0]
        assert (own > 0.0).all()
        # E[Σ 1/p] is the number of values with p > 0
        expected = (chances > 0.0).sum()
        deviation = math.sqrt((1 / own**2).sum())
        assert abs((1 / own).sum() - expected) < 5 * deviation


# parts of speech --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Words of all stems and numbers that end as their tag does: most are new in a test, but their ends are not."""
    random = np.random.default_rng(4)
    lines = []
    for _ in range(60):
        for tag in random.choice(list(STEMS), random.integers(2, 7)).tolist():
            lines.append(f"{random.choice(STEMS[tag])}{random.integers(20)}{ENDS[tag]} {tag}\n")
        lines.append("\n")
    path = tmp_path_factory.mktemp("corpora") / "tagged.txt"
    path.write_text("".join(lines))
    return path


def test_sentences_are_split_in_halves(tagged: Path) -> None:
    data = load_template(FOLDER / "pos.dcrf").require().data
    assert data is not None
    rows = [[(f"w{n}", "NN")] * (1 + n % 3) for n in range(9)]
    train, test = experiments.halves(corpus_from_rows(rows, data), np.random.default_rng(0))
    assert (train.num_sentences, test.num_sentences) == (4, 5)
    words = [part.text_column("word").values for part in (train, test)]
    assert sorted([*words[0], *words[1]]) == [f"w{n}" for n in range(9)]


def test_spelling_tells_the_tags_of_unknown_words(tagged: Path) -> None:
    plan = experiments.PosPlan(1, alone=("-ity", "-ly"))
    (record,) = experiments.pos_tagging(experiments.pos_corpus(tagged, plan), plan, seed=0, threads=1)
    assert set(record["models"]) == set(tables.POS_NAMES) and record["unknown"] > 10.0
    for plain in ("memm", "crf"):
        assert record["models"][plain]["unknown"] > 20.0, "or there is nothing to be told"
        assert record["models"][f"{plain}+"]["unknown"] == 0.0
    rows = {row["model"]: row for row in tables.pos_rows([record])}
    assert rows["crf+"]["change"]["unknown"]["mean"] == pytest.approx(-100.0)
    assert rows["crf"]["change"] == {"error": None, "unknown": None}
    every, ity, ly = tables.spelling_rows([record])
    assert (every["spelling"], ity["spelling"], ly["spelling"]) == ("all", "-ity", "-ly")
    unknown = record["models"]["crf"]["unknown"]
    assert every["unknown"]["mean"] == ity["unknown"]["mean"] == pytest.approx(unknown), "of two tags, one end tells"
    assert record["alone"]["-ly"]["error"] == pytest.approx(record["models"]["crf"]["error"]), "no word has it"


def test_spellings_are_those_of_the_template() -> None:
    spec = load_template(FOLDER / "pos_spelling.dcrf").require()
    single = [experiments.with_spelling(name).require() for name in experiments.SPELLINGS]
    (group,) = spec.groups
    assert len(group.features) == len(single) == 12
    words = [clique for own in single for clique in own.cliques if clique.name == "spellings"]
    assert [feature for clique in words for feature in clique.features] == list(group.features)


def test_a_start_changes_the_time_alone(tagged: Path) -> None:
    plan = experiments.PosPlan(1)
    train, test = experiments.halves(experiments.pos_corpus(tagged, plan), np.random.default_rng(0))
    resolved = experiments.with_spelling("-ing")
    first, _ = experiments.model_and_record(load_template(FOLDER / "pos.dcrf"), train, test, experiments.CRF, 1)
    own, other = (
        experiments.model_and_record(resolved, train, test, experiments.CRF, 1, start)[1] for start in (None, first)
    )
    assert own["objective"] == pytest.approx(other["objective"], rel=1e-6)
    assert own["scores"] == pytest.approx(other["scores"])


# tables and plots -------------------------------------------------------------------------------------------------


def mixed(alpha: float, crf: float, memm: float, supports: str = "separate") -> dict[str, Any]:
    models = {"crf": {"error": crf}, "memm": {"error": memm}, "hmm": {"error": 10.0}}
    return {"form": "edges", "supports": supports, "alpha": alpha, "source": 0, "models": models}


def test_rows_of_mixed_order_are_means_over_sources() -> None:
    zero, one = tables.mixed_rows([mixed(0.0, 8.0, 10.0), mixed(1.0, 30.0, 20.0), mixed(0.0, 10.0, 10.0)])
    assert (zero["alpha"], zero["sets"]) == (0.0, 2)
    assert zero["means"] == {"crf": 9.0, "memm": 10.0, "hmm": 10.0}
    assert (zero["below_memm"], zero["below_hmm"], zero["gain"]) == (1, 1, pytest.approx(10.0))
    assert (one["below_memm"], one["gain"]) == (0, pytest.approx(-50.0))


def test_tests_of_mixed_order_are_of_means_of_sources() -> None:
    errors = {0: [(8.0, 10.0), (6.0, 7.0)], 1: [(5.0, 9.0), (5.0, 8.0)], 2: [(4.0, 4.0), (2.0, 3.0)]}
    records = [{**mixed(0.5, crf, memm), "source": source} for source, pairs in errors.items() for crf, memm in pairs]
    records += [{**mixed(0.0, 90.0, 0.0), "source": 0}]  # left out
    memm, hmm = tables.mixed_tests(records)
    gains = [1.5, 3.5, 0.5]
    expected = stats.ttest_1samp(gains, 0)
    assert (memm["other"], memm["sources"]) == ("memm", 3)
    assert memm["less"]["mean"] == pytest.approx(np.mean(gains)) and memm["less"]["p"] == pytest.approx(expected.pvalue)
    assert hmm["less"]["mean"] == pytest.approx(10 - (7 + 5 + 3) / 3)


def test_spreads() -> None:
    found, test = tables.spread([1.0, 2.0, 3.0]), stats.ttest_1samp([1.0, 2.0, 3.0], 0)
    assert (found["mean"], found["low"], found["high"]) == (2.0, 1.0, 3.0)
    assert found["mean"] + found["half"] == pytest.approx(test.confidence_interval(0.95).high)
    assert found["p"] == pytest.approx(test.pvalue)
    assert tables.spread([4.0])["half"] is None and tables.spread([4.0, 4.0])["p"] is None
    assert tables.less([1.0, 2.0], [3.0, 2.0])["mean"] == 1.0


def test_pairs_are_of_the_same_split() -> None:
    def split(crf: float) -> dict[str, Any]:
        return {"models": {name: {"error": crf, "unknown": 2 * crf} for name in tables.POS_NAMES}}

    records = [split(1.0), split(2.0)]
    for record in records:
        record["models"]["memm"] = {name: value + 1.5 for name, value in record["models"]["crf"].items()}
    (row,) = (row for row in tables.pair_rows(records) if (row["first"], row["second"]) == ("crf", "memm"))
    assert (row["error"]["mean"], row["error"]["half"], row["error"]["p"]) == (1.5, 0.0, None)


def test_a_plot_has_a_dot_a_record_above_the_diagonal_where_the_error_is_larger() -> None:
    records = [mixed(0.0, 8.0, 16.0), mixed(1.0, 20.0, 12.0)]
    drawing = ElementTree.fromstring(figure.scatter(records, "crf", "memm"))
    dots = drawing.findall("{http://www.w3.org/2000/svg}circle")[:2]
    legend = drawing.findall("{http://www.w3.org/2000/svg}circle")[2:]
    assert [dot.get("fill") == "white" for dot in dots] == [True, False]
    assert len(legend) == 2, "of both that are drawn"
    # pixels from the lower left corner, of which 20 % is the whole side
    places = [(float(dot.get("cx", 0)) - 60, 440 - float(dot.get("cy", 0))) for dot in dots]
    assert places == [pytest.approx((168, 336)), pytest.approx((420, 252))]


# the whole --------------------------------------------------------------------------------------------------------

SMALL = run.Plan(
    experiments.BiasPlan((0.5,), 1, 100, 50),
    experiments.MixedPlan((("edges", "separate", (0.0, 1.0), 1), ("states", "separate", (1.0,), 1)), 40, 40),
    experiments.PosPlan(1, sentences=30, alone=("-ing",)),
)


@pytest.mark.long
def test_a_run_writes_records_tables_and_plots(
    tagged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "result.json"
    result = run.reproduce(SMALL, out, tagged, seed=0, threads=1, talk=False)
    assert result == json.loads(out.read_text()) and result["complete"]
    bias, first, pos = (result["sections"][name] for name in ("bias", "mixed", "pos"))
    assert [row["model"] for row in bias["rows"]] == list(tables.BIAS_NAMES)
    assert [row["model"] for row in pos["rows"]] == list(tables.POS_NAMES)
    assert pos["records"][0]["train_sentences"] == 15
    assert all(record["models"]["crf"]["iterations"] == 500 for record in first["records"])
    easy, hard, other = (record["models"]["hmm"]["error"] for record in first["records"])
    assert easy < hard == other, "the HMM has one set of weights, and both templates the same data"
    for pair in figure.PAIRS:
        drawing = ElementTree.fromstring((tmp_path / f"result-{'-'.join(pair)}.svg").read_text())
        assert len(drawing.findall("{http://www.w3.org/2000/svg}circle")) == 2 + 2
    run.show(result)
    shown = capsys.readouterr().out
    assert all(
        text in shown for text in ("5.1 Label bias", "5.2 Mixed-order", "5.3 Parts of speech", "CRF+", "Spelling by")
    )


def test_a_file_that_is_not_there_is_said_before_anything_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiments, "fit", lambda *_, **__: pytest.fail("trained"))
    with pytest.raises(SystemExit, match="no such file"):
        run.main(["--pos", str(tmp_path / "none.txt"), "--quick", "--out", str(tmp_path / "result.json")])


@pytest.mark.long
def test_ctrl_c_keeps_the_sections_that_are_complete(
    bias: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: Any) -> Any:
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(run, "label_bias", lambda *_: iter(bias))
    monkeypatch.setattr(run, "mixed_order", stopped)
    result = run.reproduce(SMALL, tmp_path / "result.json", None, seed=0, threads=1, talk=False)
    assert not result["complete"] and list(result["sections"]) == ["bias"]
    assert not list(tmp_path.glob("*.svg"))
