"""The reference leaves nothing out, its examples have no mistake, and the terminal says what the pages say."""

from __future__ import annotations

import importlib
import pkgutil
import re
import sys
from pathlib import Path

import pytest

import dcrfdsl
from dcrfdsl.cli import run
from dcrfdsl.cli.explain_command import LIBRARIES
from dcrfdsl.features.values.value_functions import FEATURES
from dcrfdsl.foundation.errors.registry import Table
from dcrfdsl.metrics import METRICS
from dcrfdsl.semantics import (
    DECODINGS,
    EXPLANATIONS,
    FUNCTIONS,
    ReferenceEntry,
    entries_named,
    reference_entries,
    settings_named,
)
from dcrfdsl.semantics.checks.data_formats import FORMATS
from dcrfdsl.semantics.reference.reference_entry import written_entries
from dcrfdsl.semantics.schema.search_ranges import RANGES
from dcrfdsl.semantics.schema.segment_schemes import SCHEMES
from dcrfdsl.semantics.settings.training_settings import TrainSettings
from dcrfdsl.syntax import BY_KEYWORD, KEYWORDS

ROOT = next(folder for folder in Path(__file__).parents if (folder / "pyproject.toml").exists())
BASE = {
    "data": "data conll(word, pos, chunk)",
    "label": "label chunk in bio(NP, VP)",
    "clique": "clique chunk as words: bias, word, pos\nclique chunk[-1], chunk as chain",
}
ENTRIES = reference_entries()
WITH_EXAMPLES = [entry for entry in ENTRIES if entry.kind != "message"]


def ids(entry: ReferenceEntry) -> str:
    return f"{entry.kind} {entry.name}"


def names_of(kind: str) -> set[str]:
    return {entry.name for entry in ENTRIES if entry.kind == kind}


def method_tables() -> dict[str, dict[str, type]]:
    """The tables of all modules of settings; those of one kind together."""
    room = "dcrfdsl.semantics.settings"
    names = [module.name for module in pkgutil.iter_modules(importlib.import_module(room).__path__)]
    found = [vars(importlib.import_module(f"{room}.{name}")).values() for name in names]
    tables: dict[str, dict[str, type]] = {}
    for table in (table for values in found for table in values if isinstance(table, Table)):
        tables.setdefault(table.kind, {}).update(table)
    return tables


# nothing is left out --------------------------------------------------------------------------------------------------


def test_every_word_has_an_entry() -> None:
    assert names_of("statement") == set(KEYWORDS)
    assert names_of("feature function") == set(FUNCTIONS) >= set(FEATURES)
    for keyword, kind in BY_KEYWORD.items():
        assert names_of(f"option of `{keyword}`") == set(kind.with_options.get(keyword, ()))
    assert names_of("data format") == set(FORMATS)
    assert names_of("domain") >= {*SCHEMES, "states"}
    assert names_of("decoding rule") == set(DECODINGS)
    assert names_of("metric") == set(METRICS)
    assert names_of("search range") == set(RANGES)
    assert names_of("message") == set(EXPLANATIONS)


@pytest.mark.parametrize("kind", list(method_tables()))
def test_every_method_and_setting_has_an_entry(kind: str) -> None:
    for name, settings in method_tables()[kind].items():
        (entry,) = (entry for entry in ENTRIES if (entry.kind, entry.name) == (kind, name))
        assert {setting.name for setting in entry.settings} == set(settings.model_fields)
        for setting in entry.settings:
            assert setting.meaning and setting.type and setting.default, setting.name


def test_every_entry_says_something() -> None:
    for entry in ENTRIES:
        assert len(entry.summary) > 10 and entry.summary.endswith((".", "!")), ids(entry)
        assert entry.kind == "message" or entry.usage, ids(entry)
        for setting in entry.settings:
            assert not setting.meaning.endswith(".") and "`None`" not in setting.meaning, ids(entry)


# examples have no mistake ---------------------------------------------------------------------------------------------


def whole(example: str) -> str:
    """A template with the lines of an example; what it declares itself replaces what stands here."""
    if example.startswith("dcrf 1"):
        return example
    lines = example.splitlines()
    has = {keyword for keyword in BASE if any(line.startswith(f"{keyword} ") for line in lines)}
    kept = [text for keyword, text in BASE.items() if keyword not in has - {"clique"} and not (
        keyword in ("label", "clique") and {"data", "label"} & has)]  # fmt: skip
    return "\n".join([*(() if "data" in has else kept), *lines]) + "\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "places.txt").write_text("Rome\nNew York\n")
    (tmp_path / "states.txt").write_text("A\nB\n")
    (tmp_path / "base.dcrf").write_text("let spread = 1\n")
    return tmp_path


@pytest.mark.parametrize("entry", WITH_EXAMPLES, ids=ids)
def test_an_example_has_no_mistake(entry: ReferenceEntry, folder: Path) -> None:
    assert entry.example
    path = folder / "example.dcrf"
    path.write_text(whole(entry.example), encoding="utf-8")
    resolved = dcrfdsl.load_template(path)
    for stage in [stage.label for stage in resolved.require().stages] or [None]:
        problems = [d.message for d in dcrfdsl.check(resolved, stage=stage) if d.severity == "error"]
        assert problems == [], path.read_text()
    assert entry.name.strip('[].…{}"') in entry.example or entry.kind in ("place", "domain", "column type")


SETTINGS = [(entry, setting) for entry in ENTRIES for setting in entry.settings]


def test_every_setting_stands_in_an_example() -> None:
    """Written with its name, but for what is given without one: names of declarations, and what a function reads."""
    for entry, setting in ((one, setting) for one in ENTRIES for setting in one.settings):
        table = method_tables().get(entry.kind)
        unnamed = [table[entry.name].names, table[entry.name].texts] if table else []
        named = setting.name not in unnamed and setting.default != "required"
        written = re.escape(setting.name.replace("CLIQUE", "words")) + r" =" if named else rf"{entry.name}\(\w"
        assert re.search(rf"\b{written}", setting.example), f"{setting.name} of {entry.name} needs an example"
        assert setting.meaning, f"{setting.name} of {entry.name} needs a meaning"


@pytest.mark.parametrize("example", sorted({setting.example for _, setting in SETTINGS}))
def test_an_example_of_a_setting_has_no_mistake(example: str, folder: Path) -> None:
    path = folder / "example.dcrf"
    path.write_text(whole(example), encoding="utf-8")
    resolved = dcrfdsl.load_template(path)
    for stage in [stage.label for stage in resolved.require().stages] or [None]:  # by default the last one is checked
        found = [d.message for d in dcrfdsl.check(resolved, stage=stage) if d.severity != "note"]
        assert found == [], path.read_text()


@pytest.mark.parametrize("entry", [entry for entry in WITH_EXAMPLES if entry.written_out], ids=ids)
def test_settings_written_out_have_no_mistake(entry: ReferenceEntry, folder: Path) -> None:
    """As `explain` shows them, in every stage."""
    path = folder / "example.dcrf"
    path.write_text(whole(entry.written_out), encoding="utf-8")
    resolved = dcrfdsl.load_template(path)
    for stage in [stage.label for stage in resolved.require().stages] or [None]:
        problems = [d.message for d in dcrfdsl.check(resolved, stage=stage) if d.severity == "error"]
        assert problems == [], path.read_text()


VALUES = {"number": "0.5", "whole number": "2", "yes or no": "yes", "names": None, "name": None}


@pytest.mark.parametrize("entry", [e for e in WITH_EXAMPLES if e.kind in method_tables()], ids=ids)
def test_every_setting_takes_its_default(entry: ReferenceEntry, folder: Path) -> None:
    """Each setting is written out with its default, or where that is none with a value of its type."""
    table = method_tables()[entry.kind]
    positional = (table[entry.name].names, table[entry.name].texts)
    for setting in entry.settings:
        value = VALUES.get(setting.type.partition(" or ")[0]) if setting.default == "none" else setting.default
        if value is None or setting.name in positional:
            continue
        call = f"{entry.name}({setting.name} = {value})"
        line = entry.usage.partition(entry.name)[0]
        if line.startswith(("infer ", "train ")):
            text = line + call
        else:
            line = line.replace("CLIQUE", "words")
            criterion = next(e.example for e in ENTRIES if (e.kind, e.name) == (entry.kind, entry.name))
            text = f"train {criterion.split()[1].partition('(')[0].rstrip(':')}: {line}{call}"
        if entry.name == "rescale":
            text = f"train piecewise as parts\n{text} after parts"
        path = folder / "setting.dcrf"
        path.write_text(whole(text), encoding="utf-8")
        diagnostics = dcrfdsl.check(dcrfdsl.load_template(path))
        wrong = [d.message for d in diagnostics if d.slug in ("bad-setting", "unknown-setting", "syntax")]
        assert wrong == [], text


# the terminal says the same -------------------------------------------------------------------------------------------


def test_explain_prints_every_entry_of_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    for name in sorted({entry.name for entry in ENTRIES if entry.kind != "message"}):
        assert run(["explain", "--", name]) == 0
        printed = " ".join(capsys.readouterr().out.split())
        for entry in entries_named(name):
            assert " ".join(entry.summary.split()) in printed, name
            assert " ".join(entry.usage.split()) in printed, name


@pytest.mark.parametrize("name", ["tolerance", "max_table", "variance", "kernel.CLIQUE", "patience"])
def test_explain_prints_settings(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert settings_named(name)
    assert run(["explain", name]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    for _, setting in settings_named(name):
        assert " ".join(setting.meaning.split()) in printed
    assert any(" ".join(setting.example.split()) in printed for _, setting in settings_named(name))


@pytest.mark.parametrize("slug", ["unknown-name", "too-many-features"])
def test_check_and_explain_say_the_same_of_a_message(slug: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--explain", slug]) == 0
    first = capsys.readouterr().out
    assert run(["explain", slug]) == 0
    assert capsys.readouterr().out == first
    assert run(["explain", f"error[{slug}]"]) == 0
    assert capsys.readouterr().out == first


@pytest.mark.parametrize(("word", "statement"), [("locked", "piece"), ("initially", "memory"), ("when", "forbid")])
def test_explain_knows_words_within_statements(word: str, statement: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", word]) == 0
    assert capsys.readouterr().out.startswith(f"statement {statement}\n")
    assert run(["explain", "word"]) == 1  # a column of examples


@pytest.mark.parametrize("module", LIBRARIES)
def test_explain_knows_the_modules_for_other_libraries(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    names = importlib.import_module(f"dcrfdsl.{module}").__all__
    for word in (module, f"dcrfdsl.{module}", names[0], LIBRARIES[module][1].split(", ")[0].upper()):
        assert run(["explain", word]) == 0
        page = capsys.readouterr().out
        assert f"module {module}\n" in page and all(name in page for name in names)
    assert (ROOT / "docs" / f"{LIBRARIES[module][0]}.md").exists()


def test_explain_without_a_name_lists_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain"]) == 0
    words = set(capsys.readouterr().out.split())
    assert {word for entry in ENTRIES for word in entry.name.split()} - words == set()


@pytest.mark.parametrize(("word", "guess"), [("cliqe", "clique"), ("ridge", "gaussian"), ("viterbi", "exact")])
def test_another_word_is_met_with_a_guess(word: str, guess: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", word]) == 1
    assert f"did you mean `{guess}`?" in capsys.readouterr().err


def test_the_pages_hold_every_entry() -> None:
    sys.path.insert(0, str(ROOT / "docs/_ext"))
    try:
        import reference_pages
    finally:
        sys.path.remove(str(ROOT / "docs/_ext"))
    text = "\n".join(text for _, text in reference_pages.generated_pages())
    for entry in ENTRIES:
        assert entry.summary in text and entry.example.strip() in text
        assert all(setting.example.strip() in text for setting in entry.settings)


@pytest.mark.parametrize("source, formats", [("column", ["csv", "tsv", "parquet", "npz"]), ("token", ["spans"])])
def test_a_source_of_columns_is_explained_with_its_formats(source: str, formats: list[str]) -> None:
    assert [entry.name for entry in entries_named(source)] == formats


def test_defaults_of_tables_are_those_of_their_format() -> None:
    (csv,), (tsv,) = entries_named("csv"), entries_named("tsv")
    of_csv, of_tsv = ({setting.name: setting.default for setting in entry.settings} for entry in (csv, tsv))
    assert (of_csv["separator"], of_csv["quote"]) == ('`","`', '`"\\""`')
    assert (of_tsv["separator"], of_tsv["quote"]) == ('`"\\t"`', '`"none"`')


def test_each_method_has_a_page_of_its_own() -> None:
    for kind, table in method_tables().items():
        pages = {page.name: page for page in written_entries(kind)}
        assert set(pages) == set(table), kind
        for name, page in pages.items():
            assert re.search(rf"\b{name}\b", page.example), f"give `{name}` an example"


def test_what_is_said_of_settings_is_of_settings() -> None:
    """No meaning is left over of a setting that is gone. What stands above the pages is of several methods."""
    for kind, table in method_tables().items():
        fields = {name: set(method.model_fields) for name, method in table.items()}
        pages = written_entries(kind)
        for page in pages:
            everywhere = set.intersection(*(set(other.meanings) for other in pages))
            assert set(page.meanings) - everywhere <= fields[page.name], page.name
            assert everywhere <= set.union(*fields.values()), kind
    stage = {entry.name for entry in written_entries("setting of a stage")[1:]}
    criteria = {"criterion", "clique_priors", "clique_kernels"}
    assert {name for name in stage if "." not in name} == set(TrainSettings.model_fields) - criteria
