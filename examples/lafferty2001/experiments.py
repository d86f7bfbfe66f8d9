"""The trainings of Lafferty, McCallum and Pereira (2001), Section 5: what is trained on what, and its errors.

Errors are in percent. Not here: the sources of made-up data (`sources`), tables and plots.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from running import sentences_of
from sources import MixedOrder, best_path, noisy_words

from dcrfdsl import corpus_from_rows, fit, load_template, load_text, read_corpus
from dcrfdsl.data import Corpus
from dcrfdsl.metrics import unseen_values
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import Resolved

HERE = Path(__file__).parent
Record = dict[str, Any]


class RowSpec(NamedTuple):
    """Which stage of the template is trained, and how its model tags."""

    stage: str
    decode: str


CRF, MEMM, HMM = RowSpec("crf", "joint"), RowSpec("memm", "local"), RowSpec("hmm", "joint")


def trained(resolved: Resolved, train: Corpus, test: Corpus, row: RowSpec, threads: int | None) -> Record:
    """Scores, objective, iterations and processor time of one training."""
    return model_and_record(resolved, train, test, row, threads)[1]


def model_and_record(
    resolved: Resolved,
    train: Corpus,
    test: Corpus,
    row: RowSpec,
    threads: int | None,
    start: TrainedModel | None = None,
) -> tuple[TrainedModel, Record]:
    """start: a model with whose weights the training begins."""
    cpu = time.process_time()
    model = fit(resolved, train, stage=row.stage, start=start, threads=threads)
    cpu = time.process_time() - cpu
    return model, {
        "scores": model.evaluate(test, threads=threads, decode=row.decode),
        "objective": model.record.objective,
        "iterations": model.record.iterations,
        "reason": model.record.reason,
        "weights": model.num_weights,
        "cpu_seconds": cpu,
    }


def error(score: float) -> float:
    return 100.0 * (1.0 - score)


# 5.1: label bias --------------------------------------------------------------------------------------------------


class BiasPlan(NamedTuple):
    """shares: probabilities of `rib`.   draws: training and test sets of each."""

    shares: tuple[float, ...]
    draws: int
    train: int
    test: int


BIAS = {"crf": CRF, "crf_lbfgs": RowSpec("crf_lbfgs", "joint"), "memm": MEMM}


def label_bias(plan: BiasPlan, seed: int, threads: int | None) -> Iterator[Record]:
    """A record a draw: by model the percentage of test words and of test states that are wrong."""
    resolved = load_template(HERE / "label_bias.dcrf")
    data = resolved.require().data
    assert data is not None
    for probability in plan.shares:
        for draw in range(plan.draws):
            generator = np.random.default_rng([seed, draw])
            train, test = (
                corpus_from_rows(noisy_words(generator, count, probability), data) for count in (plan.train, plan.test)
            )
            record: Record = {"share": probability, "draw": draw, "models": {"best": best_errors(test, probability)}}
            for name, row in BIAS.items():
                found = trained(resolved, train, test, row, threads)
                scores = found.pop("scores")
                found["words"] = error(scores["sentence_accuracy"])
                found["states"] = error(scores["accuracy(state)"])
                record["models"][name] = found
            yield record


def best_errors(test: Corpus, probability: float) -> Record:
    """Of the tagger that knows the automaton; a wrong word has two wrong states of its three."""
    symbols, states = ("".join(_texts(test, name)) for name in ("symbol", "state"))
    words = [symbols[n : n + 3] for n in range(0, len(symbols), 3)]
    bad = np.array([best_path(word, probability) != states[3 * n : 3 * n + 3] for n, word in enumerate(words)])
    return {"words": share(bad), "states": share(bad) * 2 / 3}


# 5.2: mixed order -------------------------------------------------------------------------------------------------


class MixedPlan(NamedTuple):
    """sweeps: of each the template, the supports of the source, α, and how many random sources.

    train, test: sequences, of `length` symbols each.
    """

    sweeps: tuple[tuple[str, str, tuple[float, ...], int], ...]
    train: int
    test: int
    length: int = 25


def mixed_order(plan: MixedPlan, seed: int, threads: int | None) -> Iterator[Record]:
    """A record a training set: by model the percentage of test labels that are wrong.

    The source of a number is the same for all α and templates, and so are its data for one α. The HMM is that of
    `mixed_states.dcrf`.
    """
    states = load_template(HERE / "mixed_states.dcrf")
    for form, supports, alphas, sources in plan.sweeps:
        resolved = load_template(HERE / f"mixed_{form}.dcrf")
        data = resolved.require().data
        assert data is not None
        for number in range(sources):
            for alpha in alphas:
                source = MixedOrder.drawn(np.random.default_rng([seed, number]), supports)
                generator = np.random.default_rng([seed, number, round(1000 * alpha)])
                train, test = (
                    corpus_from_rows(source.sequences(generator, alpha, count, plan.length), data)
                    for count in (plan.train, plan.test)
                )
                record: Record = {"form": form, "supports": supports, "alpha": alpha, "source": number, "models": {}}
                for name, row in {"crf": CRF, "memm": MEMM, "hmm": HMM}.items():
                    found = trained(states if row is HMM else resolved, train, test, row, threads)
                    found["error"] = error(found.pop("scores")["accuracy(state)"])
                    record["models"][name] = found
                yield record


# 5.3: parts of speech ---------------------------------------------------------------------------------------------


class PosPlan(NamedTuple):
    """splits: how often the sentences are split into halves.   sentences: how many are taken; None: all.

    alone: of `SPELLINGS`, which are tried alone.
    """

    splits: int
    sentences: int | None = None
    alone: tuple[str, ...] = ()


POS = {
    "hmm": ("pos_hmm", HMM),
    "hmm_rare": ("pos_hmm", RowSpec("hmm_rare", "joint")),
    "memm": ("pos", MEMM),
    "crf": ("pos", CRF),
    "memm+": ("pos_spelling", MEMM),
    "crf+": ("pos_spelling", CRF),
}


# The paper's list, one by one; all of it is in `pos_spelling.dcrf`.
SPELLINGS = {
    "begins with a digit": "word matches /[0-9].*/",
    "begins with a capital": r"word matches /\p{Lu}.*/",
    "has a hyphen": "word has /-/",
    **{f"-{end}": f"word matches /.*{end}/" for end in ("ing", "ogy", "ed", "s", "ly", "ion", "tion", "ity", "ies")},
}


def with_spelling(feature: str) -> Resolved:
    """`pos.dcrf` with one of `SPELLINGS`."""
    text = f'dcrf 1\nuse "pos.dcrf"\nclique pos as spellings: {SPELLINGS[feature]}\n'
    return load_text(text, feature, directory=HERE)


def pos_corpus(file: Path, plan: PosPlan) -> Corpus:
    data = load_template(HERE / "pos.dcrf").require().data
    assert data is not None
    corpus = read_corpus(file, data)
    return corpus.slice(0, min(plan.sentences or corpus.num_sentences, corpus.num_sentences))


def pos_tagging(corpus: Corpus, plan: PosPlan, seed: int, threads: int | None) -> Iterator[Record]:
    """A record a split: by model the percentage of test tags that are wrong, of all words and of unknown ones."""
    templates = {name: load_template(HERE / f"{name}.dcrf") for name in ("pos_hmm", "pos", "pos_spelling")}
    for split in range(plan.splits):
        train, test = halves(corpus, np.random.default_rng([seed, split]))
        unknown = unseen_values(test.text_column("word"), train.text_column("word").values)
        record: Record = {
            "split": split,
            "train_sentences": train.num_sentences,
            "test_sentences": test.num_sentences,
            "unknown": share(unknown),
            "models": {},
        }
        models = {}
        for name, (template, row) in POS.items():
            models[name], found = model_and_record(templates[template], train, test, row, threads)
            record["models"][name] = _errors(found)
        # Convex, so that the start changes nothing but the time.
        record["alone"] = {
            feature: _errors(model_and_record(with_spelling(feature), train, test, CRF, threads, models["crf"])[1])
            for feature in plan.alone
        }
        yield record


def _errors(found: Record) -> Record:
    scores = found.pop("scores")
    return found | {"error": error(scores["accuracy(pos)"]), "unknown": error(scores["oov_accuracy(pos, word)"])}


def _texts(corpus: Corpus, name: str) -> list[str]:
    column = corpus.text_column(name)
    return [column.values[code] for code in column.codes.tolist()]


def share(mask: NDArray[np.bool_]) -> float:
    """In percent; 0 of nothing."""
    return 100.0 * float(mask.mean()) if mask.size else 0.0


def halves(corpus: Corpus, generator: np.random.Generator) -> tuple[Corpus, Corpus]:
    """The sentences at random in two halves; the second has the odd one."""
    order = generator.permutation(corpus.num_sentences)
    middle = len(order) // 2
    return sentences_of(corpus, np.sort(order[:middle])), sentences_of(corpus, np.sort(order[middle:]))
