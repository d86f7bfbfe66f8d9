"""`check --format` and `schema`: what programs read of messages and of other outputs."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from helpers import LANGUAGE, ROOT
from jsonschema import Draft202012Validator, ValidationError
from pydantic import BaseModel

from dcrfdsl import load_template, load_text
from dcrfdsl.cli import run
from dcrfdsl.cli.diagnostic_formats import github_command, located, sarif_log
from dcrfdsl.cli.schema_command import SCHEMAS, json_schema
from dcrfdsl.foundation import Diagnostic, quick_fix
from dcrfdsl.semantics import check

Captured = pytest.CaptureFixture[str]
BAD = "data conll(word, tag)\nlabel tga in {DT, NN}\nclique tag: bias, wrod\n"
GOOD = "data conll(word, tag)\nlabel tag in {DT, NN}\nclique tag: bias, word\n"
FORMATS = ("text", "json", "sarif", "github")
BAD_TEMPLATES = sorted(LANGUAGE.glob("bad/*/*.dcrf"))


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.dcrf").write_text(BAD)
    (tmp_path / "good.dcrf").write_text(GOOD)
    return tmp_path


# formats ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(
    ("files", "code"),
    [(["good.dcrf"], 0), (["bad.dcrf"], 1), (["good.dcrf", "bad.dcrf"], 1), (["no.dcrf"], 1), (["."], 1)],
    ids=["good", "bad", "both", "no file", "a folder"],
)
def test_exit_codes_do_not_depend_on_the_format(
    kind: str, files: list[str], code: int, here: Path, capsys: Captured
) -> None:
    assert run(["check", *files, "--format", kind]) == code
    out, err = capsys.readouterr()
    assert "Traceback" not in err and (kind == "text" or err == "")
    if kind in ("json", "sarif"):
        json.loads(out)


def test_json_has_place_words_and_fix(here: Path, capsys: Captured) -> None:
    assert run(["check", "good.dcrf", "bad.dcrf", "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    Draft202012Validator(json_schema("check")).validate(found)
    assert found["templates"] == ["good.dcrf", "bad.dcrf"] and found["errors"] == len(found["diagnostics"]) == 3
    last = found["diagnostics"][-1]
    assert (last["severity"], last["slug"], last["help"]) == ("error", "unknown-name", "did you mean `word`?")
    assert last["place"] == {
        "file": "bad.dcrf", "line": 3, "column": 19, "end_line": 3, "end_column": 23, "words": "unknown name",
    }  # fmt: skip
    line = BAD.splitlines()[last["fix"]["line"] - 1]
    assert line[last["fix"]["column"] - 1 : last["fix"]["end_column"] - 1] == "wrod"
    assert last["fix"]["replacement"] == "word"


def test_quiet_leaves_errors_alone(here: Path, capsys: Captured) -> None:
    """And one message of a file that two templates use is one message."""
    (here / "odd.dcrf").write_text(GOOD + "features idle: word\n")
    for more, expected in (([], ["warning"]), (["-q"], [])):
        assert run(["check", "odd.dcrf", "--format", "json", *more]) == 0
        assert [one["severity"] for one in json.loads(capsys.readouterr().out)["diagnostics"]] == expected
    for main in ("a", "b"):
        (here / f"{main}.dcrf").write_text('use "bad.dcrf"\n')
    run(["check", "a.dcrf", "b.dcrf", "--format", "json"])
    assert json.loads(capsys.readouterr().out)["errors"] == 3


def test_data_is_checked_in_every_format(here: Path, capsys: Captured) -> None:
    (here / "odd.txt").write_text("the DT\nend XX\n")
    assert run(["check", "good.dcrf", "--data", "odd.txt", "--format", "json"]) == 1
    (problem,) = [one for one in json.loads(capsys.readouterr().out)["diagnostics"] if one["severity"] == "error"]
    assert "XX" in problem["message"]
    assert run(["check", "good.dcrf", "--data", "none.txt", "--format", "sarif"]) == 1
    assert json.loads(capsys.readouterr().out)["runs"][0]["results"][0]["level"] == "error"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("good.dcrf --print spec --format json", "give one"),
        ("good.dcrf --expand --print ast", "give one of them"),
        ("good.dcrf bad.dcrf --print ast", "takes one TEMPLATE"),
        ("good.dcrf --print tree", "'tree' is not one of"),
        ("- -", "stdin can be read once"),
    ],
)
def test_what_has_no_place_beside_another_is_refused(arguments: str, words: str, here: Path, capsys: Captured) -> None:
    assert run(["check", *arguments.split()]) == 2
    assert words in capsys.readouterr().err


def test_several_templates_in_words(here: Path, capsys: Captured) -> None:
    assert run(["check", "good.dcrf", "no.dcrf", "bad.dcrf", "good.dcrf"]) == 1
    out, err = capsys.readouterr()
    assert out.count("good.dcrf\n") == 2 and out.count("one sweep") == 2
    assert "there is no file `no.dcrf`" in err and "3 errors in bad.dcrf" in err


def test_github_commands_are_escaped() -> None:
    """As GitHub's documents of workflow commands say: in the text `%` and line ends, in a property `:` and `,` too."""
    problem = Diagnostic("odd", "100%: a,\nb\r", help="x", severity="note", location="a,b:c.dcrf:3:7")
    assert github_command(problem) == (
        "::notice file=a%2Cb%3Ac.dcrf,line=3,col=7,title=note[odd]::100%25: a,%0Ab%0D%0Ahelp: x"
    )
    nowhere = Diagnostic("odd", "::set-output name=x::1")
    assert github_command(nowhere) == "::error title=error[odd]::::set-output name=x::1"


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("a.txt", ("a.txt", None, None)),
        ("a.txt:3", ("a.txt", 3, None)),
        ("a.txt:3:7", ("a.txt", 3, 7)),
        ("c:/a:b.txt:3", ("c:/a:b.txt", 3, None)),
        ("<input>:2", ("<input>", 2, None)),
    ],
)
def test_places_in_data(location: str, expected: tuple[str, int | None, int | None]) -> None:
    place = located(Diagnostic("odd", "", location=location))
    assert place is not None and (place.file, place.line, place.column) == expected


# SARIF: the properties and requirements of SARIF 2.1.0 (§3.13 to §3.57) that a log of ours can have, written down from
# the standard. `additionalProperties` is false there, too, for every object.


def _of(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


_TEXT = {"type": "string", "minLength": 1}
_MESSAGE = _of(["text"], text=_TEXT)
_NUMBER = {"type": "integer", "minimum": 1}
_FILE = _of(["uri"], uri={"type": "string", "format": "uri-reference"})
_REGION = _of(["startLine"], startLine=_NUMBER, startColumn=_NUMBER, endLine=_NUMBER, endColumn=_NUMBER)
_LOCATION = _of(
    ["physicalLocation"],
    id={"type": "integer", "minimum": 0},
    message=_MESSAGE,
    physicalLocation=_of(["artifactLocation"], artifactLocation=_FILE, region=_REGION),
)
_CHANGE = _of(
    ["artifactLocation", "replacements"],
    artifactLocation=_FILE,
    replacements={
        "type": "array",
        "minItems": 1,
        "items": _of(["deletedRegion"], deletedRegion=_REGION, insertedContent=_MESSAGE),
    },
)
_RULE = _of(
    ["id"], id=_TEXT, name=_TEXT, shortDescription=_MESSAGE, help=_of(["text"], text=_TEXT, markdown=_TEXT),
)  # fmt: skip
_RESULT = _of(
    ["message", "ruleId", "ruleIndex", "level"],
    ruleId=_TEXT,
    ruleIndex={"type": "integer", "minimum": 0},
    level={"enum": ["none", "note", "warning", "error"]},
    message=_MESSAGE,
    locations={"type": "array", "items": _LOCATION, "maxItems": 1},
    relatedLocations={"type": "array", "items": _LOCATION, "uniqueItems": True},
    fixes={
        "type": "array",
        "items": _of(
            ["artifactChanges"],
            description=_MESSAGE,
            artifactChanges={"type": "array", "minItems": 1, "items": _CHANGE},
        ),
    },
)
_DRIVER = _of(
    ["name"],
    name=_TEXT,
    semanticVersion={"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
    rules={"type": "array", "items": _RULE, "uniqueItems": True},
)
SARIF = _of(
    ["version", "runs"],
    **{"$schema": {"type": "string", "format": "uri"}},
    version={"const": "2.1.0"},
    runs={
        "type": "array",
        "items": _of(
            ["tool", "results"],
            tool=_of(["driver"], driver=_DRIVER),
            columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
            results={"type": "array", "items": _RESULT},
        ),
    },
)


@pytest.mark.parametrize("folder", sorted({path.parent for path in BAD_TEMPLATES}), ids=name)
def test_sarif_of_every_bad_template(folder: Path) -> None:
    """It is as the standard says, and each rule, place and fix is that of the message."""
    problems = [one for path in sorted(folder.glob("*.dcrf")) for one in problems_of(path)]
    log = json.loads(sarif_log(problems))
    Draft202012Validator(SARIF).validate(log)
    (ran,) = log["runs"]
    rules = ran["tool"]["driver"]["rules"]
    assert len(ran["results"]) == len(problems)
    for result, problem in zip(ran["results"], problems, strict=True):
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == problem.slug
        if problem.primary is None:
            continue
        place = result["locations"][0]["physicalLocation"]
        assert unquote(urlsplit(place["artifactLocation"]["uri"]).path) == problem.primary.span.source.name
        region, source = place["region"], problem.primary.span.source
        start = source.line_starts[region["startLine"] - 1] + region["startColumn"] - 1
        end = source.line_starts[region["endLine"] - 1] + region["endColumn"] - 1
        assert source.text[start:end] == problem.primary.span.text
        assert len(result.get("relatedLocations", ())) == len(problem.secondary)
        assert ("fixes" in result) == (quick_fix(problem) is not None)


def test_an_independent_model_of_sarif_reads_every_bad_template() -> None:
    """Types, what is required and names of members are those of a package that was written from the standard."""
    package = pytest.importorskip("sarif_pydantic", reason="needs the package sarif-pydantic")
    problems = [one for path in BAD_TEMPLATES for one in problems_of(path)]
    log = package.Sarif.model_validate_json(sarif_log(problems))
    assert len(log.runs[0].results) == len(problems)
    assert set(unknown_members(log)) == {"columnKind"}  # §3.14.17 has it, the package has not


def unknown_members(node: Any) -> Iterator[str]:
    """The names of members that are no field of their object."""
    if isinstance(node, BaseModel):
        yield from node.model_extra or ()
        for name in node.model_fields_set & set(type(node).model_fields):
            yield from unknown_members(getattr(node, name))
    elif isinstance(node, list):
        for one in node:
            yield from unknown_members(one)


@pytest.mark.parametrize(
    ("file", "uri"),
    [("a b%#.dcrf", "a%20b%25%23.dcrf"), ("c:d/e:f.dcrf", "c%3Ad/e:f.dcrf"), ("../é.dcrf", "../%C3%A9.dcrf")],
)
def test_names_of_files_are_references(file: str, uri: str) -> None:
    log = json.loads(sarif_log([Diagnostic("no-file", "x", location=file)]))
    assert log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


@functools.cache
def problems_of(path: Path) -> Sequence[Diagnostic]:
    return tuple(check(load_template(path)))


@pytest.mark.parametrize("path", BAD_TEMPLATES, ids=name)
def test_a_fix_mends_what_it_is_about(path: Path) -> None:
    """After the edit the message is gone. Guesses that are no edit at one place, such as `[j]`, are no fixes."""
    text = path.read_text(encoding="utf-8")
    for problem in problems_of(path):
        fix = quick_fix(problem)
        if fix is None or fix.span.source.text != text:
            continue
        fixed = text[: fix.span.start] + fix.replacement + text[fix.span.end :]
        after = check(load_text(fixed, str(path), directory=path.parent))
        assert [one for one in after if (one.slug, one.message) == (problem.slug, problem.message)
                and one.primary is not None and one.primary.span.start == fix.span.start] == []  # fmt: skip


def test_most_guesses_are_fixes() -> None:
    guesses = [one for path in BAD_TEMPLATES for one in problems_of(path)
               if (one.help or "").startswith("did you mean")]  # fmt: skip
    assert sum(quick_fix(one) is not None for one in guesses) > 0.8 * len(guesses) > 50


# schemas --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SCHEMAS)
def test_every_schema_is_valid(kind: str, capsys: Captured) -> None:
    assert run(["schema", kind]) == 0
    Draft202012Validator.check_schema(json.loads(capsys.readouterr().out))


def test_a_schema_refuses_what_is_missing_or_strange(here: Path, capsys: Captured) -> None:
    run(["check", "bad.dcrf", "--format", "json"])
    record, validator = json.loads(capsys.readouterr().out), Draft202012Validator(json_schema("check"))
    for change in ({"errors": -1}, {"strange": 1}, {"diagnostics": [{"slug": "x"}]}):
        with pytest.raises(ValidationError):
            validator.validate({**record, **change})
    with pytest.raises(ValidationError):
        Draft202012Validator(json_schema("model")).validate({"labels": [{"name": 3}]})


def test_a_misspelt_schema_is_met_with_a_guess(capsys: Captured) -> None:
    assert run(["schema", "chek"]) == 1
    assert "did you mean `check`?" in capsys.readouterr().err
