"""`check`, and the messages that come before training: views in the table of costs, criteria on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from dcrfdsl.cli import run

Captured = pytest.CaptureFixture[str]
HEAD = "data conll(word, tag)\nlabel tag in {DT, NN, VB}\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("data", [[], ["--data", "tags.txt"]], ids=["without data", "with data"])
def test_a_view_has_the_states_that_it_maps_to(data: list[str], here: Path, capsys: Captured) -> None:
    views = "view kind = verb if tag is VB else other\nview verbal = tag is VB\n"
    cliques = "clique kind[-1], kind as moves\nclique verbal[-1], tag as after\n"
    (here / "views.dcrf").write_text(HEAD + views + cliques)
    (here / "tags.txt").write_text("a DT\nb NN\nc VB\n")
    assert run(["check", "views.dcrf", *data]) == 0
    rows = {line.split()[0]: line.split()[1:5] for line in capsys.readouterr().out.splitlines() if line}
    assert rows["moves"][:4] == ["2", "×", "2", "4"] and rows["after"][:4] == ["2", "×", "3", "6"]


def test_a_view_of_learned_states_is_not_known_without_data(here: Path, capsys: Captured) -> None:
    (here / "views.dcrf").write_text(
        "data conll(word, tag)\nlabel tag\nview verbal = tag is VB\nclique verbal[-1], verbal as moves\n"
    )
    assert run(["check", "views.dcrf"]) == 0
    assert "? verbal × ? verbal" in capsys.readouterr().out


def test_one_is_counted_as_one(here: Path, capsys: Captured) -> None:
    (here / "tags.dcrf").write_text(HEAD + "clique tag: bias\n")
    (here / "tags.txt").write_text("a DT\n")
    run(["check", "tags.dcrf", "--data", "tags.txt"])
    assert "1 sentence, 1 token\n" in capsys.readouterr().out


def test_a_criterion_is_no_setting(here: Path, capsys: Captured) -> None:
    (here / "tags.dcrf").write_text(HEAD + "clique tag: bias\ntrain likelihood as first\n")
    for name in ("train", "first"):
        assert run(["check", "tags.dcrf", "--set", f"{name}=adaboost(rounds=5)"]) == 1
        message = capsys.readouterr().err
        assert f"`{name}.KEY` is a setting" in message and "`train adaboost(rounds=5) as NAME`" in message
        assert "did you mean" not in message


def test_an_error_after_warnings_stands_apart(here: Path, capsys: Captured) -> None:
    (here / "tags.dcrf").write_text(HEAD + "clique tag: bias\nclique tag[-1], tag\n")
    (here / "tags.txt").write_text("a DT\nb NN\n")
    assert run(["train", "tags.dcrf", "tags.txt", "-o", "m", "--set", "infer=exact(max_table=2)"]) == 1
    warning, error = capsys.readouterr().err.split("\n\n")
    assert warning.startswith("warning[unseen-state]") and error.startswith("error[too-wide]")
    assert "<input>" not in error


def test_a_folder_is_checked_as_one_and_only_a_number_without_a_weight_is_told(here: Path, capsys: Captured) -> None:
    (here / "t.dcrf").write_text(
        'data conll(u: float, c: float, tag, missing = "?")\nlabel tag\nclique tag: u, standardize(c)\n'
    )
    (here / "data").mkdir()
    for name in ("one", "two"):
        (here / "data" / f"{name}.txt").write_text("1.5 3 A\n2.5 3 B\n")
    assert run(["check", "t.dcrf", "--data", "data"]) == 0
    said = capsys.readouterr()
    assert "2 sentences, 4 tokens\n" in said.out
    warned = [line for line in (said.out + said.err).splitlines() if "silent-feature" in line]
    assert len(warned) == 1 and "the feature `standardize(c)` never fires" in warned[0]
