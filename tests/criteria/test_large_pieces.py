"""Pieces with too many joint states to go through one by one: exact inference on the graph of each instance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from model_cases import columns, gold_of, trained, twin_of
from piece_twin import PieceTwin, settings_of, supervised
from template_cases import CASES, Case, free, sentences

from dcrfdsl.criteria import piece_likelihood as piecewise
from dcrfdsl.criteria.likelihood import build_likelihood
from dcrfdsl.criteria.piece_likelihood import (
    IndependentPieces,
    LargePieces,
    PieceObjective,
    build_pieces,
    build_piecewise,
)
from dcrfdsl.criteria.training_problem import TrainingProblem
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.graph.piece_instances import piece_templates
from dcrfdsl.inference import Workers
from dcrfdsl.inference.decoding import local_decoding
from dcrfdsl.inference.decoding.local_decoding import local_pieces
from dcrfdsl.semantics.schema.model_spec import ModelSpec
from dcrfdsl.semantics.settings.infer_settings import ExactSettings
from dcrfdsl.semantics.settings.training_settings import AllCases, LikelihoodSettings, TrainSettings
from dcrfdsl.syntax import Member, Piece, Site
from dcrfdsl.syntax.nodes import At, Here, Place

MORE = {
    "latent": Case(
        "data conll(word, y)\nlabel y\nlatent h in 2\nclique y: bias\nclique h: word\nclique y, h: bias, word\n"
        "clique h[-1], h\n",
        sentences("PQR"),
    ),
    "a memory": Case(
        "data conll(word, y)\nlabel y in {P, Q}\nmemory seen = seen[-1] or y[-1] is P\nclique y: bias, word\n"
        "clique y[-1], y\nclique seen, y: bias, word\n",
        sentences("PQ", longest=5),
    ),
    "long words": Case("data conll(word, y)\nlabel y\nclique y: bias, word\nclique y[-1], y: word\n",
                       sentences("PQRS", count=20, words="abcdefgh", longest=9)),
}  # fmt: skip
# What each piece is over, and its members: the number of a clique, how far it is moved, `!` where it is locked.
PIECES = {
    "chain": ["y y+1: 1 1+1 2 2+1 2+2", "y: 1 2!"],
    "padded chain": ["y-1 y: 1-1 1 2-1 2 2+1"],
    "second order": ["y-1 y y+1: 1 2 2+1! 3 3+1", "y: 1 2 2+2"],
    "factorial": ["y y+1 z: 1 1+1 2 3 3+1 4+1 5 5+1"],
    "wide offsets": ["z y-2: 3+1 4 4-2"],
    "numbers": ["y-1 y: 1 2 2+1"],
    "a view that ties weights": ["y y+1: 1 3 4 4+1 5+1 5"],
    "views by tests, padded": ["y y+1: 1 2+1 2 3"],
    "skip chain": ["y y+1: 1 2+1 3"],
    "all repeated words": ["y z: 1 2 3 4"],
    "arcs": ["y y+2: 1 2!"],
    "segments": ["y y+1 y+2: 1 2 2+1 2+2"],
    "segments without a chain": ["y y+1: 1 1+1"],
    "forbidden moves": ["y y+1: 1 2 2-1"],
    "a constraint across cliques": ["y-1 y y+1: 1 3 3+1", "z y-2: 2 1-2"],
    "a condition across three positions": ["y-2 y-1 y: 1-1 1"],
    "latent": ["y h h-1: 1 2 3 4", "h h+1: 2 2+1! 4+1"],
    "a memory": ["y y+1: 1 1+1 2 2+1 3 3+1"],
    "long words": ["y-1 y y+1: 1-1 1 1+1 2-1 2 2+1 2+2", "y y+1: 1 2+1"],
}
# the twin of pieces knows no hard constraints, and not which positions the data joins
IN_TEXTS = [name for name in PIECES if name in CASES and CASES[name].allowed is free and not CASES[name].joins]


def case_of(name: str) -> Case:
    return {**CASES, **MORE}[name]


def place(text: str) -> tuple[str, Place]:
    """`y+1` is the name `y` and one position on."""
    for sign in "+-":
        name, found, offset = text.partition(sign)
        if found:
            return name, At(offset=int(sign + offset))
    return text, Here()


def declared(spec: ModelSpec, texts: list[str]) -> list[Piece]:
    out = []
    for number, text in enumerate(texts):
        over, members = text.split(":")
        sites = [place(own) for own in over.split()]
        held = [(*place(own.rstrip("!")), own.endswith("!")) for own in members.split()]
        out.append(
            Piece(
                name=f"piece_{number}",
                over=tuple(Site(variable=name, place=where) for name, where in sites),
                members=tuple(
                    Member(clique=spec.cliques[int(clique) - 1].label, place=where, locked=locked)
                    for clique, where, locked in held
                ),
            )
        )
    return out


def objective_of(
    given: TrainingProblem, pieces: list[Piece], monkeypatch: Any, *, limit: int, **criterion: Any
) -> PieceObjective:
    """limit: joint states up to which a piece has no graph of its own."""
    monkeypatch.setattr(piecewise, "FASTER", limit)
    return build_piecewise(given, settings_of(**criterion), piece_templates(given.spec, given.graph, pieces))


def assert_same(one: PieceObjective | IndependentPieces, other: PieceObjective, weights: Any) -> None:
    value, gradient = one.value_and_gradient(weights)
    expected, expected_gradient = other.value_and_gradient(weights)
    assert value == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(gradient, expected_gradient, atol=1e-10 * np.abs(expected_gradient).max())
    assert np.abs(gradient).max() > 0.1


@pytest.mark.parametrize("overlap", ["count", "divide"])
@pytest.mark.parametrize("name", PIECES)
def test_graphs_of_pieces_give_what_their_joint_states_give(name: str, overlap: str, monkeypatch: Any) -> None:
    given, weights = supervised(case_of(name))
    pieces = declared(given.spec, PIECES[name])
    found = [objective_of(given, pieces, monkeypatch, limit=limit, overlap=overlap) for limit in (2**16, 4, 0)]
    joint, mixed, graphs = found
    assert not any(isinstance(part, LargePieces) for part in joint.parts)
    assert all(isinstance(part, LargePieces) for part in graphs.parts)
    assert_same(graphs, joint, weights)
    assert_same(mixed, joint, weights)


@pytest.mark.parametrize("overlap", ["count", "divide"])
@pytest.mark.parametrize("name", IN_TEXTS)
def test_their_losses_are_those_of_all_states_in_texts(name: str, overlap: str, monkeypatch: Any) -> None:
    case = CASES[name]
    given, weights = supervised(case)
    pieces = declared(given.spec, PIECES[name])
    objective = objective_of(given, pieces, monkeypatch, limit=0, overlap=overlap)
    model, _ = trained(case)
    twin, expected = twin_of(model.with_weights(weights, model.record), case), 0.0
    for sentence in case.sentences:
        table = columns(case, sentence)
        expected += PieceTwin(twin, table, gold_of(model, table)).loss(pieces, divide=overlap == "divide")
    losses = sum(part.value_and_gradient(weights)[0] for part in objective.parts)
    assert losses == pytest.approx(expected, rel=1e-10)


def partly_known(given: TrainingProblem, share: float) -> TrainingProblem:
    """A share of the labels forgotten, some of them but for two states that they may have."""
    generator = np.random.default_rng(5)
    codes, labels = given.gold.codes.copy(), given.graph.num_labels
    drawn = generator.random(codes[:labels].shape)
    codes[:labels][drawn < share] = -1
    codes[:labels][drawn < share / 2] = -2
    sets = tuple(((0, 1),) if m < labels else () for m in range(len(codes)))
    return replace(given, gold=replace(given.gold, codes=codes, sets=sets))


# nothing is conditioned on here
CLOSED = {
    "chain": ["y-1 y y+1: 1 1-1 2 2+1"],
    "factorial": ["y y+1 z z+1: 1 2 3+1 4+1 5 5+1", "y z: 1 2 5"],
    "segments": ["y y+1 y+2: 1 2+1 2+2"],
    "latent": ["y h: 1 2 3", "h h+1: 2 4+1"],
}


@pytest.mark.parametrize("name", CLOSED)
def test_what_is_not_known_inside_a_piece_is_summed_out(name: str, monkeypatch: Any) -> None:
    given, weights = supervised(case_of(name))
    given = partly_known(given, 0.4)
    pieces = declared(given.spec, CLOSED[name])
    graphs, joint = (objective_of(given, pieces, monkeypatch, limit=limit) for limit in (0, 2**16))
    assert_same(graphs, joint, weights)
    assert graphs.contradictions() == ()


def test_a_piece_of_the_length_of_a_sentence_is_its_likelihood(monkeypatch: Any) -> None:
    """Nine variables of six states, 10,077,696 joint states."""
    rows = sentences("PQRSTU", count=30, words="abcdefgh", longest=9)
    long = [sentence for sentence in rows if len(sentence) == 9]
    given, weights = supervised(
        Case("data conll(word, y)\nlabel y\nclique y: bias, word\nclique y[-1], y: word\n", long)
    )
    over = " ".join(f"y{n:+d}" if n else "y" for n in range(-4, 5))
    members = " ".join(f"{c}{n:+d}" if n else str(c) for c in (1, 2) for n in range(-4, 5))
    pieces = declared(given.spec, [f"{over}: {members}"])
    objective = objective_of(given, pieces, monkeypatch, limit=2**16)
    settings = TrainSettings(criterion=LikelihoodSettings(), infer=ExactSettings())
    value, gradient = objective.value_and_gradient(weights)
    expected, expected_gradient = build_likelihood(given, settings).value_and_gradient(weights)
    assert value == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(gradient, expected_gradient, atol=1e-10 * np.abs(expected_gradient).max())


def test_they_give_the_same_floats_for_any_number_of_threads(monkeypatch: Any) -> None:
    given, weights = supervised(case_of("long words"))
    pieces = declared(given.spec, PIECES["long words"])
    found = [
        objective_of(replace(given, workers=Workers(threads)), pieces, monkeypatch, limit=0).value_and_gradient(weights)
        for threads in (1, 2, 3)
    ]
    for value, gradient in found[1:]:
        assert value == found[0][0]
        assert np.array_equal(gradient, found[0][1])


def test_pieces_that_share_no_clique_are_trained_apart(monkeypatch: Any) -> None:
    given, weights = supervised(case_of("factorial"))
    pieces = declared(given.spec, ["y y+1: 1 1+1 3+1", "z y: 2 5", "z-1 z: 4"])
    together = objective_of(given, pieces, monkeypatch, limit=0)
    with_pieces = replace(given, weights=weights, spec=given.spec.model_copy(update={"pieces": tuple(pieces)}))
    apart = build_pieces(with_pieces, settings_of(pieces=tuple(piece.name for piece in pieces)))
    assert isinstance(apart, IndependentPieces) and len(apart.apart) == 3
    assert_same(apart, together, weights)


def test_gold_labels_that_a_constraint_rules_out_are_found(monkeypatch: Any) -> None:
    given, _ = supervised(CASES["forbidden moves"])
    codes = given.gold.codes.copy()
    start = int(given.sentence_off[1])
    codes[0, start : start + 2] = [0, 2]  # P before R
    given = replace(given, gold=replace(given.gold, codes=codes))
    objective = objective_of(given, declared(given.spec, ["y y+1: 1 2"]), monkeypatch, limit=0)
    assert objective.contradictions() == (1,)


REFUSED = {
    "nota": ({"nota": AllCases()}, "too many joint states for `nota`"),
    "a variable that is not known": ({}, "conditions on `y` at token"),
    "a table that does not fit": ({}, "would build a table of"),
    "no sentence that is long enough": ({}, "no sentence has an instance of piece `piece_0`"),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_cannot_be_trained_is_refused(reason: str, monkeypatch: Any) -> None:
    given, _ = supervised(CASES["chain"])
    criterion, words = REFUSED[reason]
    pieces = declared(given.spec, ["y y+9: 1"] if "long enough" in reason else PIECES["chain"])
    settings = settings_of(**criterion)
    if "known" in reason:
        given = partly_known(given, 0.4)
    if "table" in reason:
        settings = settings.model_copy(update={"infer": ExactSettings(max_table=2)})
    monkeypatch.setattr(piecewise, "FASTER", 0)
    monkeypatch.setattr(piecewise, "LARGEST", 0)
    with pytest.raises(DcrfError, match=words) as raised:
        build_piecewise(given, settings, piece_templates(given.spec, given.graph, pieces))
    assert raised.value.diagnostics[0].help


LOCAL = """
data conll(word, y)
label y
clique y as words: word
clique y[-1], y as chain
piece a over y[-1], y: chain, words
train piecewise(a)
decode local
"""


@pytest.mark.parametrize(("limit", "refused"), [(9, False), (8, True)])
def test_local_decoding_does_not_go_by_them(limit: int, refused: bool, monkeypatch: Any) -> None:
    given, _ = supervised(Case(LOCAL, sentences("PQR")))
    monkeypatch.setattr(local_decoding, "LARGEST", limit)
    if not refused:
        assert [template.name for template in local_pieces(given.spec, given.graph)] == ["a"]
        return
    with pytest.raises(DcrfError, match="at most 8 joint states, and `a` has more"):
        local_pieces(given.spec, given.graph)
