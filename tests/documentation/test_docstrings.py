"""`help()` of every public name says what it is, what it takes, and shows an example that runs."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pydoc
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dcrfdsl
from dcrfdsl.data import InternedColumn, NumericColumn
from dcrfdsl.data.corpus import Corpus
from dcrfdsl.foundation.errors import Diagnostic
from dcrfdsl.inference import NBest, RunStatus, Samples
from dcrfdsl.metrics import ClassScores, Confusion, LabelTables, Reliability, RiskCoverage
from dcrfdsl.model import (
    Annotation,
    Confidence,
    EventProbability,
    PromisedSets,
    SegmentConfidence,
    Suggestion,
    Threshold,
    TrainingRecord,
)  # fmt: skip
from dcrfdsl.model.prediction import Prediction
from dcrfdsl.sklearn import CRF, InputError, SequenceTagger
from dcrfdsl.template.builder_terms import Clique, Constant, Lexicon
from dcrfdsl.training import CrossValidation, Fold
from dcrfdsl.transformers import Decoder

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").exists())
PUBLIC = {
    **{name: getattr(dcrfdsl, name) for name in dcrfdsl.__all__ if name != "template"},
    **{name: getattr(dcrfdsl.template, name) for name in dcrfdsl.template.__all__ if name != "as_setting_value"},
}
# What public functions return or take, beside what has a name at the top.
RETURNED = (
    Corpus, InternedColumn, NumericColumn, Diagnostic, Prediction, RunStatus, NBest, Samples, TrainingRecord,
    Reliability, Confidence, Annotation, EventProbability, SegmentConfidence, Suggestion, Clique, Constant, Lexicon,
    CRF, InputError, SequenceTagger, CrossValidation, Fold, LabelTables, ClassScores, Confusion, Decoder,
    PromisedSets, Threshold, RiskCoverage,
)  # fmt: skip
CLASSES = {kind.__name__: kind for kind in (*PUBLIC.values(), *RETURNED) if isinstance(kind, type)}
FUNCTIONS = {name: value for name, value in PUBLIC.items() if inspect.isfunction(value)}


def methods(kind: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that the package gives a class."""
    for owner in reversed(kind.__mro__):
        if owner.__module__.startswith("dcrfdsl."):
            yield from ((name, value) for name, value in vars(owner).items() if not name.startswith("_"))


INNER = {"TrainingRecord.of", "TrainingRecord.restore"}  # training and model files alone make records
METHODS: dict[str, Callable[..., Any]] = {
    f"{kind.__name__}.{name}": getattr(value, "__func__", value)
    for kind in CLASSES.values()
    for name, value in methods(kind)
    if inspect.isfunction(getattr(value, "__func__", value)) and f"{kind.__name__}.{name}" not in INNER
}
PROPERTIES = {
    f"{kind.__name__}.{name}": value
    for kind in CLASSES.values()
    for name, value in methods(kind)
    if isinstance(value, property)
}


def first_sentence(docstring: str | None) -> str:
    return re.split(r"\.(?:\s|$)|[:;]\s", docstring or "", maxsplit=1)[0]


def test_every_public_name_says_what_it_is() -> None:
    for name, described in {**CLASSES, **FUNCTIONS, **METHODS, **PROPERTIES}.items():
        own = vars(described).get("__doc__") if isinstance(described, type) else described.__doc__
        assert len(first_sentence(own)) > 10, name


def test_no_public_name_is_left_out() -> None:
    described = {**CLASSES, **FUNCTIONS}
    public = {name: value for name, value in PUBLIC.items() if not name.startswith("_")}
    assert [n for n, value in public.items() if n not in described and type(value).__name__ not in CLASSES] == []


def test_every_parameter_is_described() -> None:
    """A parameter stands before a colon at the start of a line, or in backquotes; `doc` and `deep` need no more."""
    for name, function in {**FUNCTIONS, **METHODS}.items():
        docstring = inspect.getdoc(function) or ""
        before_colons = {word for line in re.findall(r"^([\w, ]+):", docstring, re.M) for word in line.split(", ")}
        described = before_colons | set(re.findall(r"`(\w+)`", docstring))
        assert set(inspect.signature(function).parameters) - {"self", "cls"} - described == set(), name


def test_every_field_is_described() -> None:
    for name, kind in CLASSES.items():
        docstring = inspect.getdoc(kind) or ""
        fields = [field for field in getattr(kind, "__dataclass_fields__", ()) if not field.startswith("_")]
        fields += list(getattr(kind, "model_fields", ()))
        assert [field for field in fields if not re.search(rf"\b{field}\b", docstring)] == [], name


@pytest.mark.long
def test_the_help_of_the_package_is_short() -> None:
    program = "import pydoc, dcrfdsl; print(pydoc.render_doc(dcrfdsl))"
    shown = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert 30 < len(shown.splitlines()) < 150
    for word in ("dcrfdsl.fit", "dcrfdsl.read_corpus", "dcrfdsl explain", "address"):
        assert word in shown


def test_help_prints() -> None:
    assert [name for name, value in {**CLASSES, **FUNCTIONS}.items() if name not in pydoc.render_doc(value)] == []


@pytest.mark.parametrize(
    "room", ["sklearn", "jax", "plot", "spacy", "torch", "transformers", "crfsuite", "export", "convert"]
)
def test_the_reference_has_every_name_of_a_room_for_users(room: str) -> None:
    page = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs/reference/python").glob("*.md"))
    names = set(importlib.import_module(f"dcrfdsl.{room}").__all__)
    assert names - set(re.findall(rf":: dcrfdsl\.{room}\.(\w+)\b", page, re.MULTILINE)) == set()


def test_the_names_of_the_package_can_be_imported_with_a_star() -> None:
    names: dict[str, Any] = {}
    exec("from dcrfdsl import *", names)
    assert set(dcrfdsl.__all__) <= set(names) and set(dcrfdsl.__all__) <= set(dir(dcrfdsl))


# examples -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The names that examples may use, in a folder with the address model's files."""
    with pytest.MonkeyPatch.context() as patch:
        folder = shutil.copytree(ROOT / "examples/address", tmp_path_factory.mktemp("examples") / "address")
        patch.chdir(folder)
        corpus = dcrfdsl.read_corpus("address.txt", dcrfdsl.load_template("address.dcrf").require().data)
        yield {**PUBLIC, "dcrfdsl": dcrfdsl, "corpus": corpus, "model": dcrfdsl.fit("address.dcrf", corpus)}


def examples() -> dict[str, doctest.DocTest]:
    parse = doctest.DocTestParser().get_doctest
    described = {"dcrfdsl": dcrfdsl, **CLASSES, **FUNCTIONS, **METHODS, **PROPERTIES}
    found = {name: parse(inspect.getdoc(value) or "", {}, name, name, 0) for name, value in described.items()}
    return {name: test for name, test in found.items() if test.examples}


@pytest.mark.parametrize("name", examples())
def test_the_examples_run(name: str, session: dict[str, Any]) -> None:
    test = examples()[name]
    test.globs = dict(session)
    said: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.FAIL_FAST).run(test, out=said.append)
    assert not said, "".join(said)


def test_every_public_function_has_an_example() -> None:
    assert set(FUNCTIONS) - set(examples()) == set()
