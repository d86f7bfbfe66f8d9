"""Estimates before anything is built: they bound what is built, and refusals name the statements that multiply."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from template_cases import CASES

from dcrfdsl.cli import run
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.foundation import DcrfError
from dcrfdsl.graph import ModelGraph
from dcrfdsl.semantics import load_text
from dcrfdsl.training import assemble, size_limits
from dcrfdsl.training.size_limits import CELL_BYTES, multiplying, statement_sizes

HEAD = "dcrf 1\ndata conll(word, y, z)\nlabel y\nlabel z in {A, B}\nclique y: bias, word\nclique z: bias\n"
ROWS = [[("a", "H" if t % 12 < 6 else "C", "AB"[t % 2]) for t in range(40)]]
LARGE = {
    "segments": ("clique y[-1], y\nsegment y up to 900: length\n", ["segment y"]),
    "wide clique": ("latent h in 60\nclique h[-3], h[-2], h[-1], h\n", ["clique h[-3], h[-2], h[-1], h"]),
    "latents": ("latent h in 4000\nclique h[-1], h as moves\nclique h, y as sense\n", ["clique h[-1], h as moves"]),
    "once and segments": (
        "latent h in 2\nclique h, y\nonce y except {H, C}\nonce z except {A}\nsegment y up to 900: length\n",
        ["segment y"],
    ),
}


def built(text: str):
    spec = load_text(text).require()
    return assemble(spec, corpus_from_rows(ROWS, spec.data), {}, {})


@pytest.mark.parametrize("name", CASES)
def test_no_table_is_larger_than_estimated(name: str) -> None:
    case = CASES[name]
    spec = case.resolved().require()
    problem = assemble(spec, case.corpus(), {}, {})
    sizes = {id(one.statement): one.size for one in statement_sizes(spec, problem.states)}
    others = sum(size for one, size in sizes.items() if one not in map(id, spec.cliques))
    others += sum(sizes.get(id(one), 0.0) for one in spec.cliques if one.segmental)
    for kind in problem.graph.kinds:
        number = kind.template.clique
        if number >= 0 and not spec.cliques[number].segmental:
            assert CELL_BYTES * kind.size <= sizes[id(spec.cliques[number])] + others + 1e-6


@pytest.mark.parametrize("name", LARGE)
def test_what_does_not_fit_is_refused_before_it_is_built(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, named = LARGE[name]
    monkeypatch.setattr(size_limits, "memory_left", lambda: 5 * 10**8)
    monkeypatch.setattr(ModelGraph, "of", lambda *_: pytest.fail("a graph was built"))
    resolved = load_text(HEAD + text + "train likelihood\n", "large.dcrf")
    corpus = corpus_from_rows(ROWS, resolved.spec.data)
    with pytest.raises(DcrfError) as caught:
        assemble(resolved.spec, corpus, {}, {})
    (problem,) = caught.value.diagnostics
    assert problem.slug == "too-large" and problem.help and "0.5 GB are left" in problem.message
    assert problem.primary is not None
    places = [label.span.text.strip() for label in (problem.primary, *problem.secondary)]
    assert all(any(place.startswith(one) for place in places) for one in named), places


def test_what_takes_much_and_fits_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_limits, "WORTH_SAYING", 10**3)
    resolved = load_text(HEAD + "clique y[-1], y\ntrain likelihood\n")
    said = []
    assemble(resolved.spec, corpus_from_rows(ROWS, resolved.spec.data), {}, {}, remark=said.append)
    assert [one.severity for one in said] == ["warning"]


def test_a_minimum_length_of_segments_costs_little() -> None:
    """Wide conditions stay over the label, whose states are few: over segments, five positions took 63⁵ entries."""
    graph = built(
        HEAD.replace("label z in {A, B}\n", "").replace("clique z: bias\n", "")
        + "clique y[-1], y\nsegment y up to 10 with longer = together: length\n"
        + "require y[1] is H and y[2] is H and y[3] is H when y[-1] is not H and y is H\ntrain likelihood\n"
    ).graph
    assert graph.exact_cost.largest <= 2**4 * 42 and max(kind.size for kind in graph.kinds) <= 42**2


def test_the_statements_that_multiply_are_those_that_make_the_table_larger() -> None:
    text = "latent h in 9\nclique h, y as side\nclique y[-2], y as far\nclique h[-1], h as chain\nclique y[-1], y\n"
    spec = load_text(HEAD + text + "train likelihood\n").require()
    states = {"y": ("H", "C"), "z": ("A", "B"), "h": tuple("123456789")}
    order = [one.statement.label for one in multiplying(statement_sizes(spec, states))]
    assert order[0] == "chain" and "y" not in order


def test_unknown_states_are_not_listed_instance_by_instance() -> None:
    problem = built(HEAD + "latent h in 300\nclique h[-1], h as moves\nclique h, y\ntrain likelihood\n")
    tracemalloc.start()
    parameters, counts = problem.learn_parameters()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(parameters.cliques[2].bias) == 300**2 and not counts[parameters.of_clique(2)].any()
    assert peak < 40 * 300**2 * 8  # the pairs of 39 instances took several times as much


def test_memory_that_runs_out_later_names_statements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from dcrfdsl.criteria.likelihood import Likelihood

    def fails(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(Likelihood, "value_and_gradient", fails)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.dcrf").write_text(HEAD + "clique y[-1], y as moves\ntrain likelihood: optimizer = lbfgs\n")
    (tmp_path / "t.txt").write_text("a H A\nb C B\n")
    assert run(["train", "t.dcrf", "t.txt", "-o", "m"]) == 1
    said = capsys.readouterr().err
    assert "error[out-of-memory]" in said and "t.dcrf:7:1" in said and "What multiplies: `clique moves`" in said


def test_pairs_that_take_long_to_lay_out_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_limits, "WORTH_WAITING", 1e-4)
    resolved = load_text(
        HEAD + "clique y[i], y[j] as skip:\n    where word[i] = word[j]\n    with link = all\n    bias\n"
    )
    said = []
    corpus = corpus_from_rows(ROWS, resolved.spec.data)
    assemble(resolved.spec, corpus, {}, {}, remark=said.append)
    (one,) = said
    assert one.severity == "warning" and one.primary is not None and "before training begins" in one.message
    assert f"joins {40 * 39 // 2:,} pairs" in one.message
