"""`examples/usaddress`: labelled files, scores, and what it says where the package is not installed."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from helpers import ROOT, example_modules

labelled, run = example_modules(ROOT / "examples" / "usaddress", "labelled", "run")

FILE = """<AddressCollection>
  <AddressString><AddressNumber>20</AddressNumber> <StreetName>Oak &amp; Elm</StreetName>,
    <ZipCode>1</ZipCode></AddressString>
  <AddressString></AddressString>
  <AddressString><ZipCode>63104</ZipCode></AddressString>
</AddressCollection>
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "labeled.xml"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_a_labelled_file_is_read(file: Path) -> None:
    first, second = labelled.labelled_addresses(file)
    assert first == ("20 Oak & Elm,\n    1", ("AddressNumber", "StreetName", "ZipCode"))
    assert second == ("63104", ("ZipCode",))


def test_scores_count_tokens_and_whole_addresses(file: Path) -> None:
    parsed = {"20 Oak & Elm,\n    1": ["AddressNumber", "PlaceName", "ZipCode"], "63104": ["ZipCode"]}
    usaddress = SimpleNamespace(parse=lambda text: [("", label) for label in parsed[text]])
    addresses = labelled.labelled_addresses(file)
    assert run.score_of(usaddress, addresses) == (3, 4, 1)
    parsed["63104"] = ["ZipCode", "ZipCode"]  # split in another way
    assert run.score_of(usaddress, addresses) == (2, 4, 0)


def test_without_the_package_it_says_so(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pycrfsuite", ModuleType("pycrfsuite"))  # as it was, after the test
    monkeypatch.setattr(run, "usaddress_with_ours", lambda: None)
    assert run.main(["--test", str(file)]) == 0
    assert capsys.readouterr().out.startswith("skipped: the package `usaddress` is not installed")


def test_the_published_model_is_opened(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "usaddress", raising=False)
    monkeypatch.setitem(sys.modules, "pycrfsuite", ModuleType("pycrfsuite"))
    if run.usaddress_with_ours() is None:
        pytest.skip("usaddress is in the extra `bench`")
    assert run.main(["--test", str(file)]) == 0
    output = capsys.readouterr().out
    assert "29 labels" in output and "2 addresses, 4 tokens" in output
    (file.parent / "other").write_text("no XML")
    with pytest.raises(SystemExit, match="is not XML"):
        run.main(["--test", str(file.parent / "other")])
