"""`examples/usaddress`: labelled files, scores, our model, and what it says where the package is not installed."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from helpers import ROOT, example_modules

import dcrfdsl

labelled, ours, run = example_modules(ROOT / "examples" / "usaddress", "labelled", "ours", "run")

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
    addresses = labelled.labelled_addresses(file)
    found = [("AddressNumber", "PlaceName", "AddressNumber"), ("ZipCode",)]
    assert run.score_of(found, addresses) == run.Score(right=1 + 1, tokens=4, whole=1, addresses=2, repeated=1)
    found[1] = ("ZipCode", "ZipCode")  # split in another way
    assert run.score_of(found, addresses) == run.Score(right=1, tokens=4, whole=0, addresses=2, repeated=1)


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


# our model ----------------------------------------------------------------------------------------------------------

# Invented. `n` a number, `s` a street, `t` its type, `p` a place, `z` its code, `b` and `i` a box.
PARTS = {"n": "AddressNumber", "s": "StreetName", "t": "StreetNamePostType", "p": "PlaceName", "z": "ZipCode",
         "b": "USPSBoxType", "i": "USPSBoxID", "u": "SubaddressType", "x": "IntersectionSeparator"}  # fmt: skip
INVENTED = (
    "12/n Heron/s Street,/t Tolby/p 90001/z",
    "7/n Old/s Mill/s Lane,/t Ferry/p Haven/p 90002/z",
    "PO/b Box/b 17,/i Tolby/p 90001/z",
    "340/n Kestrel/s Avenue,/t Stonebridge/p 90003/z",
    "Heron/s Street/t and/x Kestrel/s Avenue,/t Tolby/p",
    "Floor/u 9/n Quarry/s Street,/t Ferry/p Haven/p 90002/z",
)
RETURNS = "7/n Mill/s Lane/t Heron/s Tolby/p 90001/z"


def row(text: str) -> object:
    tokens, labels = zip(*(cell.rsplit("/", 1) for cell in text.split()), strict=True)
    return ours.Row(tokens, tuple(PARTS[label] for label in labels))


@pytest.mark.parametrize(
    ("labels", "repeats"),
    [
        ("n s s t p z", False),
        ("n s t x s t p", False),  # the second street of an intersection
        ("n s t s p", True),
        ("s x s t s", True),
        ("p z p", True),
        ("n s n t", True),
    ],
)
def test_parts_that_come_back(labels: str, repeats: bool) -> None:
    assert ours.repeats_a_part([PARTS[label] for label in labels.split()]) == repeats


def test_the_second_street_of_an_intersection_has_labels_of_its_own() -> None:
    labels = [PARTS[label] for label in ("s", "t", "x", "s", "t", "p")]
    named = ours.with_seconds(labels)
    assert named[:3] == tuple(labels[:3])
    assert named[3:] == ("StreetName Second", "StreetNamePostType Second", "PlaceName")
    assert ours.without_seconds(named) == tuple(labels)


@pytest.mark.filterwarnings("ignore::dcrfdsl.DcrfWarning")
@pytest.mark.parametrize("labels", ["s t x s t", "s t x S T", "S T x S T"])
def test_the_first_street_is_before_the_separator_and_the_second_behind_it(labels: str) -> None:
    """Else a street that is read as the second one may be there twice."""
    named = [PARTS[label.lower()] + " Second" * label.isupper() for label in labels.split()]
    words = ["Heron", "Street", "and", "Kestrel", "Avenue"]
    data = dcrfdsl.load_template(ours.UNRULED).require().data
    corpus = dcrfdsl.corpus_from_rows([{"word": words, "part": named}], data)
    if named == list(ours.with_seconds(ours.without_seconds(named))):
        assert dcrfdsl.fit(ours.CROSSING, corpus, threads=1).num_weights
    else:
        with pytest.raises(dcrfdsl.DcrfError, match="forbid"):
            dcrfdsl.fit(ours.CROSSING, corpus, threads=1)


@pytest.mark.filterwarnings("ignore::dcrfdsl.DcrfWarning")  # few of the labels are among so few addresses
def test_our_model_learns_and_no_part_of_it_comes_back() -> None:
    rows = [row(text) for text in INVENTED]
    mixed = ("Heron", "Street", "Kestrel", "Tolby", "Mill", "90001", "Haven", "17,", "Tolby", "PO", "Heron")
    found = {}
    for template in (ours.UNRULED, ours.RULED):
        model, left_out = ours.train([*rows, row(RETURNS)], template, threads=1)
        assert left_out == 1
        assert ours.labels_by(model, [one.tokens for one in rows], threads=1) == [one.labels for one in rows]
        (found[template],) = ours.labels_by(model, [mixed], threads=1)
    assert ours.repeats_a_part(found[ours.UNRULED]), "the example shows nothing"
    assert not ours.repeats_a_part(found[ours.RULED])


def test_folds_keep_an_address_together() -> None:
    rows = [row(text) for text in (*INVENTED, INVENTED[0].replace("Heron", "HERON"))]
    folds = list(run.folds_of(rows, 3))
    assert sorted(one for _, held_out in folds for one in held_out) == sorted(rows)
    for training, held_out in folds:
        assert len(training) + len(held_out) == len(rows)
        assert (rows[0] in held_out) == (rows[-1] in held_out)


@pytest.mark.filterwarnings("ignore::dcrfdsl.DcrfWarning")
def test_a_page_shows_the_errors(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    run.write_page([row(text) for text in INVENTED], tmp_path / "errors.html")
    assert "StreetNamePostType" in (tmp_path / "errors.html").read_text(encoding="utf-8")
