"""The compiler's growth: four times the statements take about four times as long, whatever the statement.

Times are of the processor and of both sizes in one process; small ones count as `FLOOR`, so that the noise of a busy
machine does not fail a test, while what goes through all pairs (16 times) does. `growth_cases` has the templates.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from growth_cases import CASES, CHAIN
from sampling import some

from dcrfdsl.cli.console import MOST_PRINTED, print_diagnostics
from dcrfdsl.features.plan.expansion import expand
from dcrfdsl.foundation.errors.problems import DcrfError, render_all
from dcrfdsl.semantics.checks.checker import check
from dcrfdsl.semantics.resolve.resolution import Resolved, load_template, load_text
from dcrfdsl.semantics.schema.unparse import to_text
from dcrfdsl.semantics.settings.piece_shorthands import expanded
from dcrfdsl.syntax import format_template, parse_partial

pytestmark = pytest.mark.long

Result = TypeVar("Result")

FEW, MANY = 50, 200
FLOOR = 0.1  # seconds; what takes less at the larger size is not judged
STEEPEST = 9.0  # n log n gives about 5, n² gives 16
LARGE = 5_000
MOST_SECONDS = 30.0  # of the processor, each step; what goes through all pairs takes many minutes


@pytest.fixture(autouse=True, scope="module")
def garbage_of_these_tests_alone() -> Iterator[None]:
    """What is there before them is not gone through again at each collection, of which they make a thousand."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def _seconds(step: Callable[[], object]) -> float:
    return _timed(step)[1]


def _timed(step: Callable[[], Result]) -> tuple[Result, float]:
    """What a step returns, and the seconds of the processor that it takes."""
    gc.collect()
    start = time.process_time()
    result = step()
    return result, time.process_time() - start


def _steps(text: str) -> dict[str, float]:
    """What each step of the compiler takes on a text."""
    seconds: dict[str, float] = {}
    (tree, _), seconds["parse"] = _timed(lambda: parse_partial(text))
    _, seconds["format"] = _timed(lambda: format_template(tree))
    resolved, seconds["resolve"] = _timed(lambda: load_text(text))
    diagnostics, seconds["check"] = _timed(lambda: check(resolved))
    _, seconds["render"] = _timed(lambda: render_all(diagnostics[:100]))
    _, seconds["text"] = _timed(lambda: to_text(resolved.spec))
    return seconds


def _too_steep(few: dict[str, float], many: dict[str, float]) -> dict[str, float]:
    ratios = {step: many[step] / max(few[step], FLOOR / STEEPEST) for step in many if many[step] > FLOOR}
    return {step: round(ratio, 1) for step, ratio in ratios.items() if ratio > STEEPEST}


@pytest.mark.parametrize("name", some(CASES, 12))
def test_every_kind_of_statement_grows_no_faster_than_n_log_n(name: str) -> None:
    for _ in range(3):  # another process may have had the machine meanwhile
        steep = _too_steep(_steps(CASES[name](FEW)), _steps(CASES[name](MANY)))
        if not steep:
            return
    pytest.fail(f"{name}: from {FEW} to {MANY} these grow so many times: {steep}")


@pytest.mark.long
@pytest.mark.parametrize("name", ["labels", "forbids", "cliques_of_one", "groups_doubling", "stages_chained",
                                  "names_of_groups_wrong", "a_long_or", "many_states", "memories"])  # fmt: skip
def test_five_thousand_statements_are_checked(name: str) -> None:
    resolved = load_text(CASES[name](LARGE))
    assert _seconds(lambda: check(resolved)) < MOST_SECONDS


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

    assert resolve(FEW).require().infer.name == "exact"
    for _ in range(3):
        few, many = _seconds(lambda: resolve(FEW)), _seconds(lambda: resolve(MANY))
        if many <= max(STEEPEST * few, FLOOR):
            return
    pytest.fail(f"{many / few:.1f} times")


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
    for _ in range(3):
        ratio = _seconds(lambda: to_text(expanded(many))) / max(_seconds(lambda: to_text(expanded(few))), 0.02)
        if ratio < STEEPEST:
            return
    pytest.fail(f"{ratio:.1f} times")


# what is looked up is what it was ------------------------------------------------------------------------------


def test_a_copy_of_a_specification_looks_up_its_own_names() -> None:
    spec = load_text(CHAIN + "let a = b\nlet b = 2\nfeatures f with min_count = a: word\nclique y: f\n").spec
    assert spec.constant("b") is not None and spec.settled(spec.constant("a") or pytest.fail()) == spec.constant("b")
    other = spec.model_copy(update={"lets": ()})
    assert other.constant("b") is None
    assert spec == load_text(to_text(spec)).spec  # whatever was looked up is no part of a specification
    assert spec.model_copy() == spec
