"""Numbers that are none, infinite, or too large for scores: every door to a model refuses them when it tags, too.

Without that the first label would be the best one everywhere, and probabilities not-a-number.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas
import pytest

from dcrfdsl import DcrfError, TrainedModel, corpus_from_frame, corpus_from_rows, fit
from dcrfdsl.cli import run
from dcrfdsl.export import export_tagger
from dcrfdsl.export.standalone.tagger_model import Tagger
from dcrfdsl.export.standalone.tagger_tokens import TaggerError
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.sklearn import InputError, SequenceTagger

TEMPLATE = (
    "data jsonl(word, size: float, count: int, point: vector(2), bag: weighted_bag, y)\nlabel y\n"
    "clique y: bias, size, count, point, bag\nclique y[-1], y\ninfer exact\n"
    "train likelihood: optimizer = lbfgs(max_iterations = 5)\n"
)
GOLD = [
    {"word": "a", "size": 1.0, "count": 1, "point": [0, 1], "bag": {"a": 1.0}, "y": "A"},
    {"word": "b", "size": 2.0, "count": 2, "point": [1, 1], "bag": {"b": 0.5}, "y": "B"},
]
VALUES: dict[str, list[Any]] = {
    "size": [math.nan, math.inf, -math.inf, 1e308, 10**400, "nan", "inf", "1e999", np.float32("nan")],
    "count": [math.nan, math.inf, 10**200, "1e400"],
    "point": [[math.nan, 0], [0, -math.inf], np.array([1.0, math.nan]), "nan,1", [1e308, 1e308]],
    "bag": [{"a": math.nan}, {"a": {"x": math.inf}}, {"a": 1e308}, "a:nan", "a:1e308 a:1e308", {"a": 10**400}],
}
CASES = {f"{name} {number}": (name, value) for name, values in VALUES.items() for number, value in enumerate(values)}
WORDS = r"found .*(expected a finite number|larger than any number)|too large for scores|add up to no finite number"


class Doors(NamedTuple):
    model: TrainedModel
    estimator: SequenceTagger
    program: Tagger


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Doors:
    folder = tmp_path_factory.mktemp("doors")
    resolved = load_text(TEMPLATE)
    model = fit(resolved, corpus_from_rows([GOLD] * 3, resolved.require().data), threads=1)
    stored = export_tagger(model, folder / "program.py").arrays
    return Doors(model, SequenceTagger(TEMPLATE).fit([GOLD] * 3), Tagger(stored))


def sentence(name: str, value: Any) -> list[dict[str, Any]]:
    """The second of two tokens has the value."""
    first, second = ({key: own for key, own in token.items() if key != "y"} for token in GOLD)
    return [first, second | {name: value}]


@pytest.mark.parametrize("case", CASES)
def test_every_call_refuses_it(case: str, doors: Doors) -> None:
    name, value = CASES[case]
    tokens, spec = sentence(name, value), doors.model.spec
    lists = {key: [token[key] for token in tokens] for key in tokens[0]}
    calls: dict[str, Callable[[], object]] = {
        "tag": lambda: doors.model.tag(tokens),
        "tag lists": lambda: doors.model.tag(lists),
        "predict": lambda: doors.model.predict(corpus_from_rows([tokens], spec.data, optional=["y"])),
        "marginals": lambda: doors.model.marginals(corpus_from_rows([tokens], spec.data, optional=["y"])),
        "nbest": lambda: doors.model.nbest(corpus_from_rows([tokens], spec.data, optional=["y"]), 2),
    }
    for what, call in calls.items():
        with pytest.raises(DcrfError, match=WORDS):
            pytest.fail(f"{what} answers {call()!r}")
    estimator = doors.estimator
    for ask in (estimator.predict, estimator.predict_marginals, lambda X: estimator.score(X, [["A"] * 2])):
        with pytest.raises(InputError, match=WORDS):
            ask([tokens])
    for ask in (doors.program.tag, doors.program.marginals):
        with pytest.raises(TaggerError, match=WORDS):
            ask(tokens)


@pytest.mark.parametrize("case", [case for case in CASES if case.split()[0] in ("size", "count")])
def test_a_frame_refuses_it(case: str, doors: Doors) -> None:
    name, value = CASES[case]
    frame = pandas.DataFrame(sentence(name, value), dtype=object).assign(sentence=1)
    with pytest.raises(InputError, match=WORDS):
        doors.estimator.predict(frame)
    with pytest.raises(DcrfError, match=WORDS):
        doors.model.predict(corpus_from_frame(frame, doors.model.spec.data, optional=["y"]))


@pytest.mark.parametrize(
    "case", ["size 0", "size 1", "size 3", "count 0", "point 0", "point 4", "bag 0", "bag 2", "bag 4"]
)  # fmt: skip
def test_the_command_refuses_it_with_its_line(
    case: str, doors: Doors, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    doors.model.save("a.model")
    name, value = CASES[case]
    lines = [json.dumps(sentence("size", 1.0)), json.dumps(sentence(name, value)), ""]
    Path("data.jsonl").write_text("\n".join(lines))
    for options in ((), ("--marginals",), ("--nbest", "2"), ("--confidence",), ("--json",)):
        assert run(["tag", "a.model", "data.jsonl", "-q", *options]) == 1
        out, error = capsys.readouterr()
        assert out == "" and "data.jsonl:2" in error and error.count("error[") == 1


def test_sums_stay_finite_up_to_the_largest_number(doors: Doors) -> None:
    tokens = sentence("size", 9e99) * 500
    marginals, _ = doors.model.marginals(corpus_from_rows([tokens], doors.model.spec.data, optional=["y"]))
    assert np.isfinite(marginals["y"]).all()
    prediction = doors.model.predict(corpus_from_rows([tokens], doors.model.spec.data, optional=["y"]))
    assert np.isfinite(prediction.scores).all()
    assert np.isfinite(doors.program.marginals(tokens)["y"]).all()


def test_a_product_of_numbers_is_looked_at_too() -> None:
    text = TEMPLATE.replace("size, count, point, bag", "size & count")
    resolved = load_text(text)
    model = fit(resolved, corpus_from_rows([GOLD] * 3, resolved.require().data), threads=1)
    with pytest.raises(DcrfError, match="too large for scores"):
        model.tag([token | {"size": 1e90, "count": 10**90} for token in sentence("size", 1.0)])
