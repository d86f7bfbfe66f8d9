"""Labels of several sources: as the same labels with the sets written out; and what is said of wrong ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from dcrfdsl.data import corpus_from_rows, encode_labels
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.metrics.evaluation import encode_gold
from dcrfdsl.semantics.checks.checker import check
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.schema.segment_schemes import scheme_states
from dcrfdsl.training.pipeline import fit

HEAD = "data conll(word, origin, y)\n"
CLIQUES = "clique y: bias, word\nclique y[-1], y\ninfer exact\ntrain likelihood: prior = gaussian(variance = 10)\n"
COVERS = 'source = origin, covers = types("A-1: X", "B: Y Z", "gold: all")'
Row = tuple[str, str, str]
MARKS = {"bio": "BI", "iob1": "IB", "bioes": "BIES", "bilou": "BILU"}


def sets_of(scheme: str, types: Sequence[str]) -> str:
    """`O` and all states of the types, as a set in a cell."""
    return "|".join([*(f"{mark}-{kind}" for kind in types for mark in MARKS[scheme]), "O"])


def case_of(scheme: str) -> tuple[list[list[Row]], list[list[Row]]]:
    """Sentences of three sources, and the same with the sets that they stand for."""
    begin, inside, *_ = MARKS[scheme]
    last = {"bioes": "E", "bilou": "L"}.get(scheme, inside)
    alone = {"bioes": "S", "bilou": "U", "iob1": "I"}.get(scheme, begin)
    a, b = sets_of(scheme, ["Y", "Z"]), sets_of(scheme, ["X"])
    first = {"iob1": "I"}.get(scheme, begin)
    rows = [
        [("a", "A-1", "O"), ("b", "A-1", f"{first}-X"), ("c", "A-1", f"{last}-X"), ("d", "A-1", "O")],
        [("c", "B", f"{alone}-Y"), ("d", "B", "O"), ("a", "B", f"{alone}-Z")],
        [("a", "gold", "O"), ("d", "gold", f"{alone}-Y"), ("b", "gold", f"{alone}-X")],
        [("a", "A-1", "O"), ("d", "B", "O"), ("c", "gold", "O")],  # a sentence that several have annotated
    ]
    open_ = {"A-1": a, "B": b, "gold": "O"}
    return rows, [[(w, s, open_[s] if y == "O" else y) for w, s, y in one] for one in rows]


@pytest.mark.parametrize("learned", [False, True], ids=["declared", "learned"])
@pytest.mark.parametrize("scheme", MARKS)
def test_a_source_leaves_open_what_it_does_not_cover(scheme: str, learned: bool) -> None:
    rows, sets = case_of(scheme)
    domain = scheme if learned else f"{scheme}(X, Y, Z)"
    own = load_text(f"{HEAD}label y in {domain} with {COVERS}\n{CLIQUES}")
    other = load_text(f'{HEAD}label y in {scheme}(X, Y, Z) with ambiguous = "|"\n{CLIQUES}')
    corpus = corpus_from_rows(rows, own.require().data)
    written = corpus_from_rows(sets, other.require().data)
    states = {"y": scheme_states(scheme, "XYZ")}
    found = encode_labels(own.require(), states, corpus, trains=True)
    expected = encode_labels(other.require(), states, written, trains=True)

    def allowed(code: int, sets: Sequence[Sequence[int]]) -> set[int]:
        return {code} if code >= 0 else set(range(len(states["y"]))) if code == -1 else set(sets[-2 - code])

    for one, two in zip(found.codes[0].tolist(), expected.codes[0].tolist(), strict=True):
        assert allowed(one, found.sets[0]) == allowed(two, expected.sets[0])
    ours, theirs = fit(own, corpus), fit(other, written)
    assert ours.record.objective == pytest.approx(theirs.record.objective, rel=1e-9)
    shared = {k: v for k, v in ours.evaluate(corpus).items() if k in theirs.evaluate(written)}
    assert shared == {k: v for k, v in theirs.evaluate(written).items() if k in shared} and shared["ambiguous(y)"] == 5


def test_states_without_a_scheme_hide_behind_others() -> None:
    spec = load_text(
        f'{HEAD}label y in {{P, Q, R, N}} with others = N, source = origin, covers = types("A: P", "B: Q R")\n'
        "clique y: bias\n"
    ).require()
    corpus = corpus_from_rows([[("a", "A", "N"), ("b", "A", "P"), ("c", "B", "N"), ("d", "B", "R")]], spec.data)
    found = encode_labels(spec, {"y": ("P", "Q", "R", "N")}, corpus)
    assert found.codes[0].tolist() == [-2, 0, -3, 2] and found.sets[0] == ((1, 2, 3), (0, 3))


def test_a_set_with_the_unmarked_state_is_open_too() -> None:
    options = 'ambiguous = "|", source = origin, covers = types("A: X", "B: Y")'
    spec = load_text(f"{HEAD}label y in bio(X, Y) with {options}\n{CLIQUES}").require()
    corpus = corpus_from_rows([[("a", "A", "B-X|O")]], spec.data)
    found = encode_labels(spec, {"y": scheme_states("bio", "XY")}, corpus)
    assert found.sets[0] == ((0, 2, 3, 4),)


def test_gold_without_the_column_is_read_as_it_stands() -> None:
    """Test data is complete, and need not say who annotated it; training data has to."""
    resolved = load_text(f"{HEAD}label y in bio(X, Y, Z) with {COVERS}\n{CLIQUES}")
    spec, states = resolved.require(), scheme_states("bio", "XYZ")
    bare = spec.data.model_copy(update={"columns": (spec.data.columns[0], spec.data.columns[2])})  # type: ignore[union-attr]
    corpus = corpus_from_rows([[("a", "O"), ("b", "B-X")]], bare)
    assert encode_gold(spec.labels[0], states, corpus).codes.tolist() == [6, 0]
    with pytest.raises(DcrfError) as raised:
        fit(resolved, corpus)
    assert raised.value.diagnostics[0].slug == "missing-column"


WRONG = {
    "a source that is not listed": (("b", "C", "O"), "unknown-source", '"C: all"'),
    "a source nearly spelled": (("b", "A1", "O"), "unknown-source", "did you mean `A-1`"),
    "a type that it does not cover": (("b", "A-1", "B-Y"), "uncovered-type", "add the type"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_data_is_one_error_with_its_line(name: str) -> None:
    row, slug, remedy = WRONG[name]
    resolved = load_text(f"{HEAD}label y in bio(X, Y, Z) with {COVERS}\n{CLIQUES}")
    corpus = corpus_from_rows([[("a", "gold", "B-X")], [("a", "B", "B-Z"), row]], resolved.require().data)
    with pytest.raises(DcrfError) as raised:
        fit(resolved, corpus)
    (one,) = [one for one in raised.value.diagnostics if one.severity == "error"]
    assert one.slug == slug and one.location is not None and one.location.endswith(":2")
    assert one.help is not None and remedy in one.help


def test_the_hidden_type_is_found() -> None:
    """Words that one source marks are found in sentences of the other."""
    drawn = np.random.default_rng(0)
    rows = []
    for n in range(60):
        source, own = (("A-1", "X"), ("B", "Y"))[n % 2]
        words = drawn.choice(["x", "y", "o", "p"], 6)
        rows.append([(w, source, f"B-{own}" if w == own.lower() else "O") for w in words])
    covers = 'source = origin, covers = types("A-1: X", "B: Y")'
    resolved = load_text(f"{HEAD}label y in bio(X, Y) with {covers}\n{CLIQUES}")
    model = fit(resolved, corpus_from_rows(rows, resolved.require().data))
    found = model.predict(
        corpus_from_rows([[("x", "A-1", "O"), ("o", "A-1", "O"), ("y", "A-1", "O")]], model.spec.data)
    )
    assert list(found.texts("y")) == ["B-X", "O", "B-Y"]
    assert not [one for one in check(resolved) if one.severity == "error"]
