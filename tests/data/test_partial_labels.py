"""Labels that are known in part: states of every variable, codes of sets, what is given, and what is complained of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dcrfdsl.data import Corpus, corpus_from_rows
from dcrfdsl.data.labels import (
    check_gold,
    declared_states,
    encode_known_labels,
    encode_labels,
    learn_states,
    unknown_by_label,
    variable_states,
)
from dcrfdsl.foundation.errors.diagnostics import DcrfError, Diagnostic
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.schema.model_spec import ModelSpec


def spec(*lines: str) -> ModelSpec:
    """Declarations of the variables y (and z), in a data statement with columns of these names."""
    return load_text("\n".join(["data conll(word, y, z)", *lines])).spec


def sentences(*texts: str) -> Corpus:
    """Sentences of `y` or `y/z`; a token of one text has the z `-`. Line numbers are those of the sentences."""
    data = spec().data
    assert data is not None
    rows = [[("w", *(token + "/-").split("/")[:2]) for token in text.split()] for text in texts]
    return corpus_from_rows(rows, data)


def complaint(run: Callable[[], object]) -> tuple[str, str | None, str]:
    """Slug, location and message with help of the only problem."""
    with pytest.raises(DcrfError) as caught:
        run()
    (found,) = caught.value.diagnostics
    return found.slug, found.location, f"{found.message}. {found.help}"


# states -----------------------------------------------------------------------------------------------------------

LEARNED = {
    # statement, data, states of y
    "in order of appearance": ("label y", "B A B C", "B A C"),
    "a missing value is no state": ('label y with missing = "_"', "A _ B", "A B"),
    "members of sets": ('label y with ambiguous = "|"', "B|A C|B D", "B A C D"),
    "a mark inside a set": ('label y with missing = "_", ambiguous = "|"', "A C|_ B", "A B"),
    "not declared ambiguous": ("label y", "A|B A", "A|B A"),
    "types of segments": ('label y in bio with missing = "?", ambiguous = "|"', "O|I-B B-A ?", "B-B I-B B-A I-A O"),
    "types of bioes": ('label y in bioes with ambiguous = "|"', "S-A|O", "B-A I-A E-A S-A O"),
    "others at the end": ('label y with others = O, ambiguous = "|"', "A|B", "A B O"),
    "declared states stay": ('label y in {A, B} with ambiguous = "|"', "C|D", "A B"),
}


@pytest.mark.parametrize("name", LEARNED)
def test_the_data_teaches_these_states(name: str) -> None:
    statement, text, expected = LEARNED[name]
    assert learn_states(spec(statement), sentences(text), {}) == {"y": tuple(expected.split())}


TAKEN = {
    # declarations, states of each variable after the data `A/P B/Q A/P`
    "a label from a learned one": ("label y in states(z)\nlabel z", {"y": "P Q", "z": "P Q"}),
    "a label from a latent": ("label y in states(h)\nlatent h in {A, B}", {"y": "A B", "h": "A B"}),
    "a latent from a label": ("label y\nlatent h in states(y)", {"y": "A B", "h": "A B"}),
    "through two": (
        "label y in states(g)\nlatent h in 2\nlatent g in states(h)", {"y": "0 1", "h": "0 1", "g": "0 1"}
    ),
    "others come along": ("label z with others = O\nlatent h in states(z)", {"z": "P Q O", "h": "P Q O"}),
    "latents of every kind": (
        "label y\nlatent h in 3\nlatent g in {P, Q}\nlatent k in bio(A)",
        {"y": "A B", "h": "0 1 2", "g": "P Q", "k": "B-A I-A O"},
    ),
    "memories, the last": (
        "memory m = m[-1] or y[-1] is A\nmemory last in states(y) = y[-1] initially B\nlatent h in states(m)\nlabel y",
        {"y": "A B", "h": "no yes", "m": "no yes", "last": "A B"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_every_variable_has_these_states_in_this_order(name: str) -> None:
    text, expected = TAKEN[name]
    model, corpus = spec(*text.split("\n")), sentences("A/P B/Q A/P")
    states = variable_states(model, learn_states(model, corpus, {}), {})
    assert list(states.items()) == [(variable, tuple(own.split())) for variable, own in expected.items()]


def test_what_only_data_can_tell_is_open_before_it() -> None:
    model = spec(
        "label y", "label z in {A, B}", "latent h in states(y)", "latent g in states(z)", "memory m = y[-1] is A"
    )
    assert declared_states(model, {}) == {
        "y": None, "z": ("A", "B"), "h": None, "g": ("A", "B"), "m": ("no", "yes"),
    }  # fmt: skip


def test_states_of_a_latent_variable_may_lie_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "senses.txt").write_text("first\n\nsecond\nfirst\n")
    model = spec("label y in states(h)", 'latent h in "senses.txt"')
    assert declared_states(model, {"h": tmp_path}) == {"y": ("first", "second"), "h": ("first", "second")}
    slug, place, _ = complaint(lambda: declared_states(model, {"h": tmp_path / "elsewhere"}))
    assert (slug, place) == ("missing-states", str(tmp_path / "elsewhere" / "senses.txt"))


# codes ------------------------------------------------------------------------------------------------------------

CODED = {
    # options of `label y in {A, B, C}`, values, codes, sets
    "known": ("", "A C B", [0, 2, 1], ()),
    "missing": ('with missing = "_"', "A _", [0, -1], ()),
    "a missing mark that is a state": ("with missing = B", "A B", [0, -1], ()),
    "a set": ('with ambiguous = "|"', "A B|C", [0, -2], ((1, 2),)),
    "sets in order of appearance": ('with ambiguous = "|"', "C|B A|B B|C A", [-2, -3, -2, 0], ((1, 2), (0, 1))),
    "the same twice": ('with ambiguous = "|"', "B|B A|C|A", [1, -2], ((0, 2),)),
    "all states": ('with ambiguous = "|"', "C|A|B", [-1], ()),
    "a mark inside a set": ('with missing = "_", ambiguous = "|"', "A|_ A|B", [-1, -2], ((0, 1),)),
    "another mark": ('with ambiguous = "or"', "AorB A|B", [-2, -1], ((0, 1),)),
    "others": ('with others = C, ambiguous = "|"', "X A|X X|Z", [2, -2, 2], ((0, 2),)),
    "a stranger allows nothing": ('with ambiguous = "|"', "X A|X X|Z A|B|X", [-1, 0, -1, -2], ((0, 1),)),
}


@pytest.mark.parametrize("name", CODED)
def test_values_are_these_codes(name: str) -> None:
    options, text, codes, sets = CODED[name]
    model = spec(f"label y in {{A, B, C}} {options}")
    encoded = encode_labels(model, learn_states(model, sentences(text), {}), sentences(text))
    assert (encoded.codes.tolist(), encoded.sets) == ([codes], (sets,))
    assert encoded.partial.tolist() == [code < 0 for code in codes]


def test_a_value_that_is_a_state_is_not_split() -> None:
    model = spec('label y in {A, B, "A|B", "|"} with ambiguous = "|"')
    encoded = encode_labels(model, {"y": ("A", "B", "A|B", "|")}, sentences("A|B | B|A"))
    assert (encoded.codes.tolist(), encoded.sets) == ([[2, 3, -2]], (((0, 1),),))


def test_a_token_is_partly_known_where_any_label_is() -> None:
    model = spec('label y with missing = "_"', 'label z with ambiguous = "|"')
    corpus = sentences("A/P _/P A/P|Q", "B/Q B/R")
    encoded = encode_labels(model, learn_states(model, corpus, {}), corpus)
    assert encoded.partial.tolist() == [False, True, True, False, False]


def test_an_absent_column_is_unknown_throughout() -> None:
    model = spec("label y in {A, B}", "label x in {A, B}")
    encoded = encode_labels(model, {"y": ("A", "B"), "x": ("A", "B")}, sentences("A B"))
    assert encoded.codes.tolist() == [[0, 1], [-1, -1]]
    assert encoded.partial.all()


STATES = "ABCD"


@given(st.lists(st.lists(st.sampled_from([*STATES, "_"]), min_size=1, max_size=5), min_size=1, max_size=30))
def test_every_code_stands_for_the_states_that_its_cell_lists(cells: list[list[str]]) -> None:
    model = spec(f'label y in {{{", ".join(STATES)}}} with missing = "_", ambiguous = "|"')
    corpus = sentences(" ".join("|".join(cell) for cell in cells))
    encoded = encode_labels(model, {"y": tuple(STATES)}, corpus)
    everything = set(range(len(STATES)))
    for cell, code in zip(cells, encoded.codes[0].tolist(), strict=True):
        stands_for = {code} if code >= 0 else everything if code == -1 else set(encoded.sets[0][-2 - code])
        assert stands_for == (everything if "_" in cell else {STATES.index(member) for member in cell})
    for allowed in encoded.sets[0]:
        assert 1 < len(allowed) < len(STATES)
        assert list(allowed) == sorted(set(allowed))
    assert len(set(encoded.sets[0])) == len(encoded.sets[0])


# complaints -------------------------------------------------------------------------------------------------------

EMPTY = ["A|", "|A", "A||B", "|"]


@pytest.mark.parametrize("value", EMPTY)
def test_an_empty_member_is_an_error_with_its_line_and_a_remedy(value: str) -> None:
    model, corpus = spec('label y with ambiguous = "|"'), sentences("A B", "A B", f"A {value}")
    for run in (
        lambda: learn_states(model, corpus, {}),
        lambda: encode_labels(model, {"y": ("A", "B")}, corpus),
        lambda: encode_known_labels(model, {"y": ("A", "B")}, corpus),
    ):
        slug, place, words = complaint(run)
        assert (slug, place) == ("empty-member", "<rows>:3")
        assert f"`{value}`" in words
        assert "write a set as `A|B`" in words


UNTAUGHT = {
    # declarations, data, what is said
    "all missing": (['label y with missing = "_"'], "_ _", "no known value of the label `y`"),
    "no column": (["label x"], "A", "no column for the label `x`"),
    "no segment in a set": (
        ['label y in bio with ambiguous = "|"'],
        "O B-A|X",
        "`X`, which is no `bio` state (line 1)",
    ),
    "a circle": (["label y in states(h)", "latent h in states(y)"], "A", "circle: `y` from `h` from `y`"),
    "no variable": (["label y in states(word)"], "A", "`word` is no variable"),
}


@pytest.mark.parametrize("name", UNTAUGHT)
def test_states_that_the_data_does_not_teach_are_one_message(name: str) -> None:
    declarations, text, words = UNTAUGHT[name]
    assert words in complaint(lambda: learn_states(spec(*declarations), sentences(text), {}))[2]


def problems(model: ModelSpec, corpus: Corpus) -> list[Diagnostic]:
    states = learn_states(model, corpus, {})
    return check_gold(model, states, corpus, encode_labels(model, states, corpus))


def test_unknown_values_are_counted_and_shown_inside_sets_too() -> None:
    model = spec('label y in {noun, verb} with missing = "_", ambiguous = "|"')
    corpus = sentences("noun _", "noun|nuon verb", "nuon verb|X|nuon")
    encoded = encode_labels(model, {"y": ("noun", "verb")}, corpus)
    assert dict(encoded.unknown_values[0]) == {"nuon": 3, "X": 1}
    assert unknown_by_label(model, {"y": ("noun", "verb")}, corpus)[0].tolist() == [
        False,
        False,
        True,
        False,
        True,
        True,
    ]
    (found,) = problems(model, corpus)
    assert (found.slug, found.location) == ("unknown-label", "<rows>:2")
    assert found.message == (
        "label `y` has the value `nuon` and 1 other unknown values, which its declaration does not list (lines 2, 3)"
    )
    assert found.help is not None and found.help.startswith("did you mean `noun`?")


SCHEMES = {
    # values of `label y in bio(A, B) with missing = "_", ambiguous = "|"`, lines with a forbidden move
    "legal": (["B-A I-A O", "B-B I-B"], []),
    "between known states": (["O", "B-A I-B"], [2]),
    "at the start": (["I-A"], [1]),
    "after a missing one": (["_ I-A"], []),
    "before a missing one": (["B-A _ I-B"], []),
    "after a set": (["O|B-B I-A"], []),
    "a set at the start": (["I-A|I-B"], []),
    "known again behind it": (["O|B-B I-A I-B"], [1]),
    "several": (["_ I-A O I-A", "B-A|O", "O I-B"], [1, 3]),
}


@pytest.mark.parametrize("name", SCHEMES)
def test_a_scheme_is_checked_between_known_states(name: str) -> None:
    texts, lines = SCHEMES[name]
    found = problems(spec('label y in bio(A, B) with missing = "_", ambiguous = "|"'), sentences(*texts))
    assert [(one.slug, one.location) for one in found] == [("broken-scheme", f"<rows>:{n}") for n in lines[:1]]
    assert all(f"line{'s' * (len(lines) > 1)} {', '.join(map(str, lines))})" in one.message for one in found)


# given labels -----------------------------------------------------------------------------------------------------

GIVEN = {
    # options of `label y in {A, B, C}`, values, codes, sets
    "known and free": ("", "A _ C", [0, -1, 2], ()),
    "free by the label's mark too": ('with missing = "?"', "? _ B", [-1, -1, 1], ()),
    "a set": ('with ambiguous = "|"', "A|B _", [-2, -1], ((0, 1),)),
    "free inside a set": ('with ambiguous = "|"', "A|_", [-1], ()),
    "others": ("with others = B", "X A _", [1, 0, -1], ()),
}


@pytest.mark.parametrize("name", GIVEN)
def test_given_values_are_these_codes(name: str) -> None:
    options, text, codes, sets = GIVEN[name]
    encoded = encode_known_labels(spec(f"label y in {{A, B, C}} {options}"), {"y": tuple("ABC")}, sentences(text))
    assert (encoded.codes.tolist(), encoded.sets) == ([codes], (sets,))


def test_free_is_free_where_it_is_a_state() -> None:
    encoded = encode_known_labels(spec("label y"), {"y": ("_", "A")}, sentences("_ A"))
    assert encoded.codes.tolist() == [[-1, 1]]


def test_a_given_value_that_is_no_state_is_an_error_with_its_lines_and_a_remedy() -> None:
    model = spec("label y", 'label z with ambiguous = "|"')
    with pytest.raises(DcrfError) as caught:
        encode_known_labels(model, {"y": ("noun", "verb"), "z": ("P", "Q")}, sentences("noun/P", "nuon/_ _/P|X", "X/X"))
    assert [(one.slug, one.location) for one in caught.value.diagnostics] == [
        ("unknown-label", "<rows>:2"), ("unknown-label", "<rows>:2"),
    ]  # fmt: skip
    first, second = (f"{one.message}. {one.help}" for one in caught.value.diagnostics)
    assert first == (
        "label `y` has the value `nuon` and 1 other unknown values, which the model does not know (lines 2, 3). "
        "did you mean `noun`? write `_` where `y` is not given"
    )
    assert "`X`, which the model does not know (lines 2, 3)" in second


def test_a_label_without_a_column_is_an_error() -> None:
    slug, _, words = complaint(lambda: encode_known_labels(spec("label x"), {"x": ("A",)}, sentences("A")))
    assert slug == "missing-label"
    assert "`x`" in words


def test_codes_fit_the_kernels() -> None:
    encoded = encode_labels(spec('label y with ambiguous = "|"'), {"y": ("A", "B", "C")}, sentences("A A|B"))
    assert encoded.codes.dtype == np.int32
