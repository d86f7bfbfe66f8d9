"""How a declared argument or option is read: types, what is left out, what may be repeated, what stands in brackets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import click
import pytest

from dcrfdsl.cli.command_table import CommandHelp
from dcrfdsl.cli.options import Argument, Option, command_parser


def toy(
    first: Annotated[str, Argument("FIRST")],
    rest: Annotated[list[Path] | None, Argument("REST...")] = None,
    data: Annotated[str | None, Option("DATA")] = None,
    code: Annotated[list[str] | None, Option("FILE.py")] = None,
    column: Annotated[str | None, Option("COLUMN")] = None,
    kind: Literal["a", "b"] = "a",
    number: Annotated[int | None, Option(short="-n", min=1, envvar="TOY_NUMBER")] = None,
    share: float = 0.5,
    words: Annotated[list[str] | None, Option(name="--word")] = None,
    flag: bool = False,
    pair: Annotated[bool | None, Option(name="--pair/--no-pair")] = None,
) -> None:
    """Read this."""
    READ.update(locals())


READ: dict[str, Any] = {}
LEFT_OUT = {
    "first": "x", "rest": None, "data": None, "code": None, "column": None,
    "kind": "a", "number": None, "share": 0.5, "words": None, "flag": False, "pair": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("x", {}),
        ("x y z", {"rest": [Path("y"), Path("z")]}),
        ("--kind b x", {"kind": "b"}),
        ("x -n 3 --share 2", {"number": 3, "share": 2.0}),
        ("x --word v --word w", {"words": ["v", "w"]}),
        ("x --flag --no-pair", {"flag": True, "pair": False}),
        ("-- --flag", {"first": "--flag"}),
        ("x --data - --code a.py --column=", {"data": "-", "code": ["a.py"], "column": ""}),
    ],
)
def test_what_a_command_line_says_reaches_the_function(
    line: str, found: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TOY_NUMBER", raising=False)
    READ.clear()
    command_parser("toy", toy).main(line.split(), standalone_mode=False)
    assert LEFT_OUT | found == READ


def test_the_environment_stands_in_for_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOY_NUMBER", "7")
    command_parser("toy", toy).main(["x"], standalone_mode=False)
    assert READ["number"] == 7
    command_parser("toy", toy).main(["x", "-n", "8"], standalone_mode=False)
    assert READ["number"] == 8


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "Missing argument 'FIRST'"),
        ("x --kind c", "'c' is not one of 'a', 'b'"),
        ("x -n 0", "0 is not in the range x>=1"),
        ("x -n one", "'one' is not a valid integer."),
        ("x --share half", "'half' is not a valid float"),
        ("x --flg", "--flag"),
        ("x --data=", "Invalid value for '--data': the name is empty"),
        ("x --code a.py --code=", "Invalid value for '--code': the name is empty"),
    ],
)
def test_what_cannot_be_read_is_refused(line: str, message: str) -> None:
    with pytest.raises(click.UsageError) as refused:
        command_parser("toy", toy).main(line.split(), standalone_mode=False)
    assert message in refused.value.format_message() and refused.value.exit_code == 2


def test_the_help_lists_arguments_once_and_what_options_begin_with(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = CommandHelp(meanings={"FIRST": "One.", "REST": "Any number.", "--pair": "A pair."})
    monkeypatch.setattr("dcrfdsl.cli.options.command_help", lambda: {"toy": said})
    command_parser("toy", toy).main(["--help"], prog_name="toy", standalone_mode=False)
    shown = capsys.readouterr().out
    assert shown.startswith("Usage: toy [OPTIONS] FIRST [REST...]\n\n  Read this.\n\nArguments:\n  FIRST      One.\n")
    assert shown.count("Any number.") == 1
    for fact in ("A pair.", "[default: a]", "[env var: TOY_NUMBER; x>=1]", "--pair / --no-pair"):
        assert fact in shown
