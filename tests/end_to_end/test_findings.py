"""What fuzzing and enumeration found, each in its shortest form."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

import dcrfdsl
from dcrfdsl.graph.elimination import order_cost
from dcrfdsl.graph.templates import LAST, CliqueTemplate
from dcrfdsl.semantics.checks.checker import check
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.semantics.settings.piece_shorthands import expanded

PAIRS = "data conll(word, y)\nlabel y in {P, Q}\nclique y as words: word\n"
PAIRS += "clique y[i], y[j] where word[i] = word[j] as again\n"


def test_restarts_are_drawn_one_by_one() -> None:
    """10⁸ of them were drawn before the first began, and training could not be stopped."""
    text = "data conll(word, y)\nlabel y\nlatent h in 2\nclique y, h: word\ntrain likelihood: restarts = 100000000\n"
    resolved = load_text(text)
    data = resolved.require().data
    assert data is not None
    corpus = dcrfdsl.corpus_from_rows([[("a", "P"), ("b", "Q")]], data)
    model = dcrfdsl.fit(resolved, corpus, should_stop=lambda: True, threads=1)
    assert model.num_weights > 0


def test_what_piecewise_makes_of_joined_cliques_can_be_written_down() -> None:
    """`check --expand` printed a piece over `y[i]`, which the checker refuses."""
    written = dcrfdsl.to_text(expanded(load_text(f"{PAIRS}train piecewise\n").require()))
    assert "over y[all]: again" in written
    assert [d for d in check(load_text(written)) if d.severity == "error"] == []


def test_pwpl_refuses_cliques_that_data_joins() -> None:
    """Each of their sites was taken to be every position, and the same sum counted twice."""
    found = [d for d in check(load_text(f"{PAIRS}train pwpl\n")) if d.severity == "error"]
    assert [d.slug for d in found] == ["no-order"]
    assert found[0].primary is not None


def test_a_slice_of_thousands_of_digits_is_one_message() -> None:
    """Python refuses to make a number of so many."""
    found = check(load_text(f"data conll(word, y)\nlabel y\nclique y: word[:{'9' * 5000}]\n"))
    assert [problem.slug for problem in found if problem.severity == "error"] == ["python-slice"]


def test_a_named_position_far_away_is_refused() -> None:
    """Unrolling went through all positions between the two sites."""
    text = "data conll(word, y)\nlabel y\nclique y: word\nclique y[i], y[j+2147483648] where word[i] = word[j] as far\n"
    assert [problem.slug for problem in check(load_text(text)) if problem.severity == "error"] == ["bad-window"]


@given(st.lists(st.integers(-6, 6), min_size=1, max_size=4), st.booleans(), st.sampled_from((None, 0, 3, LAST)))
def test_patterns_of_sites_outside_are_those_of_all_short_sequences(
    offsets: list[int], pad: bool, position: int | None
) -> None:
    """Going through all sequences took five seconds for a clique of two sites 1,000 positions apart."""
    cards = (2,) * len(offsets)
    template = CliqueTemplate("c", 0, (0,) * len(offsets), tuple(offsets), cards, pad=pad, position=position)
    longest = max(offsets) - min(offsets) + max(map(abs, offsets)) + 5
    expected = [
        template.pattern(anchor, length) for length in range(1, longest + 1) for anchor in template.anchors(length)
    ]
    assert template.patterns(longest) == list(dict.fromkeys(pattern for pattern in expected if 0 in pattern))


@pytest.mark.parametrize("offset", [-100_000, 100_000])
def test_a_padded_clique_of_distant_sites_is_laid_out_at_once(offset: int) -> None:
    template = CliqueTemplate("c", 0, (0, 0), (0, offset), (2, 2), pad=True)
    assert len(template.patterns(longest=200_000)) == 3


WIDE = "data conll(word, y)\nlabel y in {P, Q, R}\nclique y as words: word\nclique y[-1], y\nclique y[-%d], y\n"


@pytest.mark.parametrize("offset", [30, 1000])
def test_a_clique_that_reaches_far_is_too_wide_for_exact_inference(offset: int) -> None:
    """Its cost was read off sequences that are too short for it: memory ran out, or a float overflowed."""
    resolved = load_text(WIDE % offset)
    data = resolved.require().data
    assert data is not None
    corpus = dcrfdsl.corpus_from_rows([[("a", "P"), ("b", "Q")] * 35], data)
    model = dcrfdsl.fit(resolved, corpus, should_stop=lambda: True, threads=1)
    assert model.record.inference == "trp"
    with pytest.raises(dcrfdsl.DcrfError, match="`exact` would build a table of"):
        dcrfdsl.fit(load_text(f"{WIDE % offset}infer exact\n"), corpus, threads=1)


def test_the_cost_of_an_order_that_no_machine_can_follow_is_infinite() -> None:
    everything = range(1000)
    cost = order_cost([everything], [3] * 1000, everything)
    assert cost.work == math.inf
    assert cost.largest == math.inf


def test_a_risk_that_needs_exact_sums_does_not_send_to_another_method() -> None:
    resolved = load_text(f"{WIDE % 1}infer exact(max_table = 2)\ntrain exponential\n")
    data = resolved.require().data
    assert data is not None
    corpus = dcrfdsl.corpus_from_rows([[("a", "P"), ("b", "Q"), ("a", "R")]], data)
    with pytest.raises(dcrfdsl.DcrfError) as caught:
        dcrfdsl.fit(resolved, corpus, threads=1)
    assert [d.help for d in caught.value.diagnostics] == ["raise `max_table` if there is memory for it"]
