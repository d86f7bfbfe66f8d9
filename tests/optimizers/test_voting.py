"""The voted perceptron: its labellings against one that is written out here, its voters, its file, its commands."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_cases import columns, gold_of, twin_of
from numpy.typing import NDArray
from template_cases import CASES, CHAIN, Case, sentences

from dcrfdsl.cli import run
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.inference.decoding.labellings import Ballots
from dcrfdsl.inference.workers import Workers
from dcrfdsl.model.label_decoders import VotedDecoder
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.optimizers.voters import Voters
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.checkpoints import Checkpoint
from dcrfdsl.training.pipeline import fit

Floats = NDArray[np.float64]
Vector = tuple[int, Floats]

# The likelihood first: its weights make no two labellings score the same.
STAGES = """
train likelihood as begin: optimizer = lbfgs(max_iterations = 2)
train perceptron as voted after begin:
    epochs = 4
    seed = 3
    vote = yes
"""


def two_stages(case: Case) -> Case:
    return replace(case, text=case.text + STAGES)


def vectors_of(case: Case, start: TrainedModel) -> list[Vector]:
    """Freund and Schapire (1999), figure 1, by enumeration: each weight vector and how many sentences it lasted."""
    twin, generator = twin_of(start, case), np.random.default_rng(3)
    tables = [columns(case, sentence) for sentence in case.sentences]
    spaces = [twin.enumerate(table) for table in tables]
    golds = [space.agreeing(gold_of(start, table)).argmax() for space, table in zip(spaces, tables, strict=True)]
    weights, lasted, found = start.weights.copy(), 0, []
    for _ in range(4):
        wrong = 0
        for i in generator.permutation(len(tables)).tolist():
            counts, gold = spaces[i].counts, golds[i]
            best = (counts @ weights).argmax()
            if (counts[best] != counts[gold]).any():
                wrong += 1
                found.append((lasted, weights.copy()))
                weights, lasted = weights + counts[gold] - counts[best], 0
            lasted += 1
        if not wrong:
            break
    return [(votes, own) for votes, own in [*found, (lasted, weights)] if votes]


def elected(model: TrainedModel, vectors: list[Vector], case: Case, others: Case) -> list[tuple[int, ...]]:
    """Of each sentence of `others` the labelling with most votes; names its states position by position."""
    twin, found = twin_of(model, case), []
    for sentence in others.sentences:
        space = twin.enumerate(columns(others, sentence))
        votes: Counter[tuple[int, ...]] = Counter()
        for count, weights in vectors:
            votes[tuple(space.index[(space.counts @ weights).argmax()].tolist())] += count
        found.append(votes.most_common(1)[0][0])
    return found


ELECTIONS = {
    "chain": (CASES["chain"], sentences("PQR", count=30, longest=5, seed=1)),
    "factorial": (CASES["factorial"], sentences("PQR", "ST", count=12, longest=3, seed=2)),
    "segments": (CASES["segments"], [[(word, "O") for word in text] for text in ("abc", "cab", "bb", "acba")]),
}


@pytest.mark.long
@pytest.mark.parametrize("name", ELECTIONS)
def test_each_sentence_gets_the_labelling_that_most_weight_vectors_find_best(name: str) -> None:
    case, unseen = ELECTIONS[name]
    case, others = two_stages(case), replace(case, sentences=unseen)
    start = fit(case.resolved(), case.corpus(), stage="begin", threads=1)
    model = fit(case.resolved(), case.corpus(), threads=1)
    vectors = vectors_of(case, start)
    assert model.voters is not None and len(vectors) > 1
    assert model.voters.votes.tolist() == [votes for votes, _ in vectors]
    prediction = model.predict(others.corpus(), threads=1)
    table = np.array([prediction.codes[label] for label in model.labels]).T
    off = others.corpus().sentence_off.tolist()
    found = [tuple(table[a:b].ravel().tolist()) for a, b in itertools.pairwise(off)]
    assert found == elected(start, vectors, case, others)
    assert np.isnan(prediction.scores).all()


def test_other_answers_go_by_the_mean_of_the_voters() -> None:
    case = two_stages(CASES["chain"])
    corpus = case.corpus()
    model = fit(case.resolved(), corpus, threads=1)
    mean = fit(case.resolved("voted.vote=no"), corpus, threads=1)
    assert mean.voters is None
    np.testing.assert_array_equal(model.weights, mean.weights)
    marginals, expected = model.marginals(corpus)[0], mean.marginals(corpus)[0]
    np.testing.assert_array_equal(marginals["y"], expected["y"])
    likeliest = model.predict(corpus, decode="marginal")
    np.testing.assert_array_equal(likeliest.codes["y"], mean.predict(corpus, decode="marginal").codes["y"])


def by_the_mean(model: TrainedModel) -> TrainedModel:
    """The model that labels by the mean of the weights."""
    return model.with_weights(model.weights, model.record, None)


@pytest.mark.parametrize("voters", ["", "voters = 2", "voters = 1"])
@pytest.mark.parametrize("resumes", [False, True])
def test_dev_scores_on_the_way_are_those_of_the_model_that_would_be_saved(
    voters: str, resumes: bool, tmp_path: Path
) -> None:
    """After each pass the score is that of a training which ends there."""
    text = "data conll(word, y)\nlabel y\nclique y: bias, word\nclique y[-1], y\nevaluate accuracy(y)\n"
    noise = sentences("PQR", count=30, longest=5, seed=4, words="abcdef")

    def trained(epochs: int, **how: Any) -> TrainedModel:
        settings = ", ".join(filter(None, ("vote = yes", f"epochs = {epochs}", voters)))
        return fit(load_text(f"{text}train perceptron: {settings}\n").require(), train, threads=1, **how)

    spec = load_text(text).require()
    train, dev = (corpus_from_rows(rows, spec.data) for rows in (noise[:20], noise[20:]))
    steps: list[float | None] = []
    if resumes:
        path, seen = tmp_path / "a.checkpoint", [0]

        def stop() -> bool:
            seen[0] += 1
            return seen[0] >= 3

        trained(6, dev=dev, should_stop=stop, checkpoint=Checkpoint(path))
        trained(6, dev=dev, checkpoint=Checkpoint(path, resume=True), on_iteration=lambda step: steps.append(step.dev))
        steps = [None] * (6 - len(steps)) + steps
    else:
        trained(6, dev=dev, on_iteration=lambda step: steps.append(step.dev))
    assert len(steps) == 6 and steps[-1] is not None
    ends = [trained(epochs) for epochs in range(1, 7)]
    elected = [model.evaluate(dev)["accuracy(y)"] for model in ends]
    assert [score for score in steps if score is not None] == elected[sum(score is None for score in steps) :]
    means = [by_the_mean(model).evaluate(dev)["accuracy(y)"] for model in ends]
    assert means != elected  # which is what the mean of the weights would have scored


@pytest.mark.parametrize("cut", [False, True])
def test_an_election_goes_on_from_the_voters_it_knows(cut: bool) -> None:
    case, unseen = ELECTIONS["chain"]
    model = fit(two_stages(case).resolved(), case.corpus(), threads=1)
    corpus = replace(case, sentences=unseen).corpus()
    every = model.voters
    assert every is not None and len(every) > 3
    election = VotedDecoder(model.prepare(corpus), Workers(1), None)
    for count in (1, 2, 2, len(every) - 1, 3 if cut else len(every)):
        some = every._only(np.arange(count))
        if count == 2:  # the last one lasts longer later on
            some = replace(some, votes=np.minimum(some.votes, [10**9, 1]))
        whole = VotedDecoder(model.prepare(corpus), Workers(1), None).decoded(some)
        np.testing.assert_equal(election.decoded(some).codes, whole.codes)


# voters -----------------------------------------------------------------------------------------------------------


def walked(voters: Voters, width: int) -> list[tuple[int, list[float]]]:
    return [(votes, weights.tolist()) for votes, weights in voters.walk(width)]


def some_voters(votes: list[int]) -> Voters:
    """(1, 0, 2), (1, 1, 2), (0, 1, 2), (0, 1, 5)"""
    steps = [(1, 1.0), (0, -1.0), (2, 3.0)]
    return Voters.of(
        np.array([1.0, 0.0, 2.0]), [(np.array([k], np.int32), np.array([c])) for k, c in steps], votes
    )  # fmt: skip


def test_voters_are_walked_in_the_order_of_training() -> None:
    expected = [(3, [1.0, 0.0, 2.0]), (1, [1.0, 1.0, 2.0]), (4, [0.0, 1.0, 2.0]), (2, [0.0, 1.0, 5.0])]
    assert walked(some_voters([3, 1, 4, 2]), 3) == expected


def test_a_vector_that_lasted_for_no_sequence_does_not_vote() -> None:
    assert walked(some_voters([0, 1, 4, 2]), 3) == walked(some_voters([3, 1, 4, 2]), 3)[1:]


@pytest.mark.parametrize(("count", "kept"), [(4, [0, 1, 2, 3]), (2, [0, 2]), (1, [2])])
def test_those_that_lasted_longest_are_kept_as_they_are(count: int, kept: list[int]) -> None:
    everyone = walked(some_voters([4, 1, 4, 2]), 3)
    assert walked(some_voters([4, 1, 4, 2]).longest(count), 3) == [everyone[n] for n in kept]


def test_the_number_of_voters_is_a_setting() -> None:
    case = two_stages(CASES["chain"])
    everyone, few = (
        fit(case.resolved(f"voted.voters={limit}"), case.corpus(), threads=1).voters for limit in (1000, 3)
    )
    assert everyone is not None and few is not None
    assert len(everyone) > len(few) == 3
    assert sorted(few.votes.tolist()) == sorted(everyone.votes.tolist())[-3:]


# ballots ----------------------------------------------------------------------------------------------------------


def test_labellings_are_elected_sentence_by_sentence_and_as_a_whole() -> None:
    """Tokens 0–1 and 2–3 are sentences; (0, 1), elected by nobody, would win label by label."""
    ballots = Ballots(np.array([0, 2, 2, 4]))
    for votes, row in ((2, [0, 0, 5, 5]), (2, [1, 1, 6, 5]), (3, [2, 1, 5, 5]), (2, [0, 0, 6, 5])):
        ballots.cast(votes, np.array([row], np.int32))
    assert ballots.winners().tolist() == [[0, 0, 5, 5]]


def test_of_equal_labellings_the_first_one_wins() -> None:
    ballots = Ballots(np.array([0, 1]))
    for votes, code in ((1, 7), (2, 3), (1, 7)):
        ballots.cast(votes, np.array([[code]], np.int32))
    assert ballots.winners().tolist() == [[7]]


# files and commands -----------------------------------------------------------------------------------------------


def test_a_voted_model_comes_back_from_its_file(tmp_path: Path) -> None:
    case = two_stages(CASES["chain"])
    model = fit(case.resolved(), case.corpus(), threads=1)
    model.save(tmp_path / "a.model")
    again = TrainedModel.load(tmp_path / "a.model")
    assert model.voters is not None and again.voters is not None
    assert walked(again.voters, model.num_weights) == walked(model.voters, model.num_weights)
    others = Case(CHAIN, sentences("PQR", count=20, seed=4)).corpus()
    np.testing.assert_array_equal(again.predict(others).codes["y"], model.predict(others).codes["y"])


def test_a_stage_after_the_vote_has_its_own_weights_alone() -> None:
    case = two_stages(CASES["chain"])
    case = replace(case, text=case.text + "train likelihood as end after voted: optimizer = lbfgs\n")
    assert fit(case.resolved(), case.corpus(), threads=1).voters is None


def test_the_commands_say_who_votes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.dcrf").write_text(
        "data conll(word, y)\nlabel y\nclique y: word\nclique y[-1], y\ntrain perceptron: vote = yes\n"
    )
    rows = sentences("PQR", count=20, seed=5)
    Path("a.txt").write_text("\n".join("".join(f"{word} {y}\n" for word, y in own) for own in rows))
    assert run(["train", "a.dcrf", "a.txt", "-o", "a.model"]) == 0
    voters = TrainedModel.load("a.model").voters
    assert voters is not None
    assert f"{len(voters)} weight vectors vote on each labelling" in capsys.readouterr().err
    assert run(["tag", "a.model", "a.txt"]) == 0
    plain = capsys.readouterr()
    assert "weight vectors" not in plain.err
    assert run(["tag", "a.model", "a.txt", "--marginals"]) == 0
    beside = capsys.readouterr()
    assert f"the mean of the {len(voters)} weight vectors" in beside.err
    assert [line.rpartition(" ")[0] for line in beside.out.splitlines()] == [
        line.rstrip() for line in plain.out.splitlines()
    ]
    assert run(["eval", "a.model", "a.txt", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    tagged = [line.split() for line in plain.out.splitlines() if line]
    assert scores["accuracy(y)"] == pytest.approx(np.mean([gold == y for _, gold, y in tagged]))
