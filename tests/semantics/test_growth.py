"""The compiler's growth: four times the statements take about four times the work, whatever the statement.

Work is calls and lines of Python, the same in every run, however busy the machine. What goes through all pairs takes
16 times as much; little work counts as `FLOOR`. `growth_cases` has the templates.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from counting import counted
from growth_cases import CASES, CHAIN
from sampling import some

from dcrfdsl.cli.console import MOST_PRINTED, print_diagnostics
from dcrfdsl.features.plan.expansion import expand
from dcrfdsl.foundation.errors.diagnostics import DcrfError, render_all
from dcrfdsl.semantics import to_text
from dcrfdsl.semantics.checks.checker import check
from dcrfdsl.semantics.resolve.resolution import Resolved, load_template, load_text
from dcrfdsl.semantics.settings.piece_shorthands import expanded
from dcrfdsl.syntax import format_template, parse_partial, parser as parser_module

pytestmark = pytest.mark.long

FEW, MANY = 50, 200
FLOOR = 10_000  # calls and lines
STEEPEST = 6.0  # n log n gives about 5, n² gives 16
LARGE = 2_000


@pytest.fixture(autouse=True)
def read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements of earlier tests are parsed again, and each is parsed once a test, however long."""
    monkeypatch.setattr(parser_module, "LONGEST_KEPT", 1_000_000)
    parser_module._kept_statement.cache_clear()


def _steps(text: str) -> dict[str, int]:
    """The work of each step of the compiler on a text."""
    work: dict[str, int] = {}
    (tree, _), parsing = counted(lambda: parse_partial(text))
    _, work["format"] = counted(lambda: format_template(tree))
    resolved, resolving = counted(lambda: load_text(text))
    work["parse and resolve"] = parsing + resolving  # what is parsed is kept
    diagnostics, work["check"] = counted(lambda: check(resolved))
    _, work["render"] = counted(lambda: render_all(diagnostics[:100]))
    _, work["text"] = counted(lambda: to_text(resolved.spec))
    return work


def _growth(few: int, many: int) -> float:
    return round(many / max(few, FLOOR), 1)


@pytest.mark.parametrize("name", some(CASES, 12))
def test_every_kind_of_statement_grows_no_faster_than_n_log_n(name: str) -> None:
    few, many = _steps(CASES[name](FEW)), _steps(CASES[name](MANY))
    growth = {step: _growth(few[step], many[step]) for step in many}
    assert {step: times for step, times in growth.items() if times > STEEPEST} == {}


@pytest.mark.long
@pytest.mark.parametrize("name", ["labels", "forbids", "cliques_of_one", "groups_doubling", "stages_chained",
                                  "names_of_groups_wrong", "a_long_or", "many_states", "memories"])  # fmt: skip
def test_two_thousand_statements_are_checked(name: str) -> None:
    few, many = (load_text(CASES[name](n)) for n in (LARGE // 4, LARGE))
    assert _growth(counted(lambda: check(few))[1], counted(lambda: check(many))[1]) <= STEEPEST


# what grows without end has a limit, with one message ---------------------------------------------------------------


def _complaints(text: str) -> list[tuple[str, str]]:
    return [(d.slug, d.message) for d in check(load_text(text)) if d.severity == "error"]


def test_groups_that_double_are_refused_with_their_chain() -> None:
    found = _complaints(CASES["groups_doubling"](30))
    assert [slug for slug, _ in found] == ["too-many-features"]
    assert found[0][1].startswith(
        "this stands for 131072 features at every position, at most 100000 are allowed: `f17`"
    )


def test_groups_that_double_a_little_stay_allowed() -> None:
    assert _complaints(CASES["groups_doubling"](16)) == []


def test_deep_groups_are_refused_with_their_chain() -> None:
    assert _complaints(CASES["groups_chained"](63)) == []
    ((slug, message),) = _complaints(CASES["groups_chained"](1000))
    assert slug == "groups-too-deep"
    assert (
        message
        == "feature groups are nested more than 64 deep: `f64` → `f63` → `f62` → `f61` → `f60` → `f59` → … → `f0`"
    )


@pytest.mark.parametrize("name", ["groups_doubling", "groups_squaring", "groups_chained", "groups_in_a_circle"])
def test_expanding_refuses_what_checking_would(name: str) -> None:
    with pytest.raises(DcrfError) as caught:
        expand(load_text(CASES[name](1000)).spec)
    assert caught.value.diagnostics[0].slug in ("too-many-features", "groups-too-deep", "group-cycle")


def test_files_that_use_each_other_in_turn_have_a_limit(tmp_path: Path) -> None:
    for k in range(500):
        (tmp_path / f"f{k}.dcrf").write_text(f'use "f{k + 1}.dcrf"\n')
    (tmp_path / "f500.dcrf").write_text(CHAIN)
    found = load_template(tmp_path / "f0.dcrf").diagnostics
    assert [d.slug for d in found] == ["use-too-deep"]
    assert load_template(tmp_path / "f450.dcrf").require().labels


def test_many_used_files_that_say_the_same_again(tmp_path: Path) -> None:
    """Each replaces what the ones before it said."""

    def resolve(n: int) -> Resolved:
        folder = tmp_path / str(n)
        folder.mkdir(exist_ok=True)
        for k in range(n):
            (folder / f"f{k}.dcrf").write_text(f"let a = {k}\ninfer trp\nfeatures g{k}: word\n")
        main = folder / "main.dcrf"
        main.write_text("".join(f'use "f{k}.dcrf"\n' for k in range(n)) + CHAIN + "let a = 1\ninfer exact\n")
        return load_template(main)

    (template, few), (_, many) = counted(lambda: resolve(FEW)), counted(lambda: resolve(MANY))
    assert template.require().infer.name == "exact"
    assert _growth(few, many) <= STEEPEST


def test_constraints_with_too_many_combinations_are_not_compared() -> None:
    states = ", ".join(f"S{k}" for k in range(2048))
    forbids = "".join(f"forbid y[-1] is S{k} and y is S{k}\n" for k in range(18))
    found = check(load_text(f"data conll(word, y)\nlabel y in {{{states}}}\nclique y\n{forbids}"))
    assert [(d.slug, d.severity) for d in found] == [("not-judged", "note")]


def test_states_may_be_taken_from_a_long_row_of_variables() -> None:
    for name in ("states_of_each_other", "states_of_each_other_backwards", "memories_that_borrow"):
        assert _complaints(CASES[name](2000)) == []


def test_every_complaint_is_given_and_the_first_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    found = check(load_text(CASES["names_wrong"](1000)))
    assert len(found) == 1000
    print_diagnostics(found)
    assert capsys.readouterr().err.count("error[unknown-name]") == MOST_PRINTED
    print_diagnostics(found)
    assert capsys.readouterr().err.endswith("… and 800 more\n")


@pytest.mark.parametrize("criterion", ["memm", "pseudolikelihood", "pwpl", "piecewise", "bidirectional"])
def test_the_pieces_of_a_criterion(criterion: str) -> None:
    text = CASES["labels_joined"]
    few, many = (load_text(text(n) + f"train {criterion}\n").spec for n in (FEW, MANY))
    work = [counted(lambda spec=spec: to_text(expanded(spec)))[1] for spec in (few, many)]
    assert _growth(*work) <= STEEPEST


# what is looked up is what it was ------------------------------------------------------------------------------


def test_a_copy_of_a_specification_looks_up_its_own_names() -> None:
    spec = load_text(CHAIN + "let a = b\nlet b = 2\nfeatures f with min_count = a: word\nclique y: f\n").spec
    assert spec.constant("b") is not None and spec.settled(spec.constant("a") or pytest.fail()) == spec.constant("b")
    other = spec.model_copy(update={"lets": ()})
    assert other.constant("b") is None
    assert spec == load_text(to_text(spec)).spec  # whatever was looked up is no part of a specification
    assert spec.model_copy() == spec
