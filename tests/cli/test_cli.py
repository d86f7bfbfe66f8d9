"""The command line: what goes where, which exit code, the JSON contract, and the whole way from template to tags."""

from __future__ import annotations

import io
import itertools
import json
import math
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import click
import numpy as np
import pytest

from dcrfdsl.cli import COMMANDS, run
from dcrfdsl.cli.command_table import GROUPS
from dcrfdsl.cli.console import EndedBySignal, Interruption, Talk, guarded
from dcrfdsl.foundation.errors.diagnostics import data_error
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.syntax import resource_path

Captured = pytest.CaptureFixture[str]
DCRFDSL = [sys.executable, "-c", "from dcrfdsl.cli import main; main()"]

TEMPLATE = """dcrf 1
## A chunker for the tests.

data conll(word, pos, chunk)
label chunk
clique chunk as words: bias, word, pos[-1..1]
clique chunk[-1], chunk as chain
infer exact
train likelihood: prior = gaussian(variance = 10)
evaluate segments(chunk), accuracy(chunk)
"""
SENTENCES = """He PRP B-NP
reckons VBZ O
the DT B-NP
current JJ I-NP
deficit NN I-NP

The DT B-NP
deficit NN I-NP
grows VBZ O

Growth NN B-NP

She PRP B-NP
sees VBZ O
growth NN B-NP
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DCRFDSL_THREADS", raising=False)
    (tmp_path / "chunk.dcrf").write_text(TEMPLATE)
    (tmp_path / "train.txt").write_text(SENTENCES)
    return tmp_path


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a template, data and the model that was trained on them."""
    place = tmp_path_factory.mktemp("trained")
    (place / "chunk.dcrf").write_text(TEMPLATE)
    (place / "train.txt").write_text(SENTENCES)
    files = [str(place / name) for name in ("chunk.dcrf", "train.txt")]
    assert run(["train", *files, "-o", str(place / "chunk.model"), "--quiet"]) == 0
    return place


# help, exit codes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example_and_quiet(command: str, capsys: Captured) -> None:
    assert run([command, "--help"]) == 0
    out, err = capsys.readouterr()
    assert f"Example:\n    dcrfdsl {command} " in out or f"Example:\n    dcrfdsl {command}\n" in out
    # `explain` and `schema` print what they are asked for and nothing else, `lsp` what an editor reads
    assert "--quiet" in out or command in ("explain", "schema", "lsp")
    assert not err


def test_help_screen_has_a_line_for_each_command(capsys: Captured) -> None:
    """In 80 columns, in sections by the path of a user, with nothing cut off."""
    assert run(["--help"]) == 0
    sections = capsys.readouterr().out.split("\n\n")[-len(GROUPS) :]
    listed = [re.findall(r"^  (\w+) +([A-Z].+)$", section, re.MULTILINE) for section in sections]
    assert [tuple(name for name, _ in rows) for rows in listed] == list(GROUPS.values())
    assert max(map(len, "\n".join(sections).splitlines())) < 80 and "..." not in "".join(sections)
    assert sum(len(section.strip().splitlines()) - 1 for section in sections) == len(COMMANDS)


def test_help_screen_loads_nothing_heavy() -> None:
    """`--help` comes at once because a command loads what it needs only when it runs."""
    code = (
        "import sys\n"
        "from dcrfdsl.cli import run\n"
        "run(['--help'])\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1]
    assert "'click'" in loaded
    for heavy in ("numba", "numpy", "scipy", "lark", "pydantic", "networkx"):
        assert f"'{heavy}'" not in loaded


USAGE = [
    [],
    ["trian"],
    ["train", "chunk.dcrf"],
    ["train", "chunk.dcrf", "train.txt"],  # no -o
    ["train", "-", "-", "-o", "a.model"],
    ["train", "chunk.dcrf", "train.txt", "-o", "a.model", "--threads", "0"],
    ["infer", "a.uai", "--task", "best"],
    ["infer", "a.uai", "--task", "map", "--nodes", "0"],
    ["infer", "a.uai", "--method", "trp", "--tolerance", "2"],
    ["tag", "a.model", "--nbest", "0"],
    ["tag", "a.model", "-", "-"],
    ["fmt", "-", "-"],
    ["show"],
]


@pytest.mark.parametrize("arguments", USAGE, ids=" ".join)
def test_wrong_usage_exits_2(arguments: list[str], here: Path, capsys: Captured) -> None:
    assert run(arguments) == 2


REFUSED = {
    "check missing.dcrf": "no-file",
    "fmt missing.dcrf": "no-file",
    "train chunk.dcrf missing.txt -o a.model": "file-error",
    "train chunk.dcrf train.txt -o no/a.model": "no-such-directory",
    "report missing.model missing.txt -o no/page.html": "no-such-directory",
    "train chunk.dcrf train.txt -o chunk.dcrf": "output-is-input",
    "train chunk.dcrf train.txt -o a.model --features missing.py": "feature-file",
    "train chunk.dcrf train.txt -o a.model --stage nowhere": "unknown-stage",
    "tag missing.model": "no-file",
    "tag train.txt": "not-a-model",
    "eval missing.model train.txt": "no-file",
    "show chunk.dcrf": "not-a-model",
    "unroll chunk.dcrf train.txt --sentence 9": "no-such-sentence",
    "new linear_chian": "unknown-template",
    "new linear_chain -o chunk.dcrf": "file-exists",
    "infer missing.uai": "unreadable-file",
    "infer chunk.dcrf": "bad-uai",
    "infer chunk.dcrf --method loopy": "unknown-method",
    "show a.model --template --json": "idle-option",
    "show a.model --templates --path": "idle-option",
    "probability a.model train.txt predicted --every --sentence 2": "idle-option",
}


@pytest.mark.parametrize("line", REFUSED)
def test_input_that_cannot_be_used_is_one_message_and_exit_1(line: str, here: Path, capsys: Captured) -> None:
    before = {path: path.read_bytes() for path in here.iterdir()}
    assert run(line.split()) == 1
    out, err = capsys.readouterr()
    assert not out
    assert err.startswith(f"error[{REFUSED[line]}]: ")
    assert err.count("error[") == 1
    assert {path: path.read_bytes() for path in here.iterdir()} == before


def bug() -> None:
    raise ZeroDivisionError("the reason")


def interrupted() -> None:
    raise KeyboardInterrupt


def interrupted_in_a_kernel() -> None:
    """What Numba makes of a signal that arrives while it unpacks an argument."""
    try:
        interrupted()
    except KeyboardInterrupt as error:
        raise SystemError("returned a result with an exception set") from error


def refused() -> None:
    raise data_error("some-slug", "it is `odd`", file="a.txt", line=3)


def full_disk() -> None:
    raise OSError(28, os.strerror(28))


ENDINGS: list[tuple[Callable[[], None], int, str]] = [
    (lambda: None, 0, ""),
    (refused, 1, "error[some-slug]: it is `odd`\n  --> a.txt:3\n"),
    (full_disk, 1, "error[file-error]: the output cannot be written: no space left on device\n"),
    (lambda: open("/no/such/file").close(), 1, "error[file-error]: `/no/such/file`: no such file or directory\n"),
    (interrupted, 130, "interrupted\n"),
    (interrupted_in_a_kernel, 130, "interrupted\n"),
    (bug, 70, "dcrfdsl has failed, and it is not your fault: ZeroDivisionError: the reason\n"),
]


@pytest.mark.parametrize(("command", "code", "message"), ENDINGS)
def test_every_ending_has_its_code(
    command: Callable[[], None], code: int, message: str, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DCRFDSL_TRACEBACK", raising=False)
    found = 0
    try:
        guarded(command)()
    except click.exceptions.Exit as leave:
        found = leave.exit_code
    assert (found, capsys.readouterr().err[: len(message)]) == (code, message)


def test_the_traceback_of_a_bug_is_in_the_named_file(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DCRFDSL_TRACEBACK", raising=False)
    with pytest.raises(click.exceptions.Exit):
        guarded(bug)()
    (place,) = [word for word in capsys.readouterr().err.split() if word.endswith(".txt.")]
    traceback = Path(place.removesuffix("."))
    assert "in bug" in traceback.read_text()
    traceback.unlink()


@pytest.mark.long
def test_a_reader_that_leaves_is_no_error(trained: Path) -> None:
    """The pipe is closed before a line is written."""
    code = "import os, sys, time; time.sleep(0.5); from dcrfdsl.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "show", str(trained / "chunk.model"), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == (b"", 0)
    process.stderr.close()


# infer ------------------------------------------------------------------------------------------------------------

# Three binary variables in a ring, and one of three states alone.
CARDS = (2, 2, 2, 3)
FACTORS: list[tuple[tuple[int, ...], list[float]]] = [
    ((0, 1), [1.0, 2.0, 3.0, 0.5]),
    ((1, 2), [0.25, 1.0, 4.0, 1.0]),
    ((0, 2), [2.0, 1.0, 1.0, 3.0]),
    ((3,), [0.5, 0.25, 1.0]),
]


@pytest.fixture
def ring(here: Path) -> Path:
    lines = ["MARKOV", str(len(CARDS)), " ".join(map(str, CARDS)), str(len(FACTORS))]
    lines += [" ".join(map(str, (len(scope), *scope))) for scope, _ in FACTORS]
    lines += [f"{len(table)} " + " ".join(map(str, table)) for _, table in FACTORS]
    path = here / "ring.uai"
    path.write_text("\n".join(lines))
    (here / "ring.evid").write_text("1 1 0")
    return path


def joint(evidence: dict[int, int]) -> dict[tuple[int, ...], float]:
    """Every assignment that agrees with the evidence, and its potential: the slow and obvious way."""
    table = {}
    for states in itertools.product(*(range(card) for card in CARDS)):
        if all(states[v] == state for v, state in evidence.items()):
            sizes = [[CARDS[v] for v in scope] for scope, _ in FACTORS]
            table[states] = math.prod(
                values[int(np.ravel_multi_index([states[v] for v in scope], size))]
                for (scope, values), size in zip(FACTORS, sizes, strict=True)
            )
    return table


@pytest.mark.parametrize("evidence", [{}, {1: 0}])
def test_infer_json_is_the_contract(evidence: dict[int, int], ring: Path, capsys: Captured) -> None:
    def ask(task: str) -> dict[str, object]:
        more = ["--evidence", "ring.evid"] if evidence else []
        assert run(["infer", "ring.uai", "--task", task, "--method", "exact", "--json", *more]) == 0
        return json.loads(capsys.readouterr().out)  # type: ignore[no-any-return]

    table = joint(evidence)
    log_z = math.log(sum(table.values()))
    best = max(table, key=lambda states: table[states])
    always = {"task", "method", "converged", "iterations", "residual"}

    found = ask("pr")
    assert found.keys() == always | {"log_z"}
    assert found["log_z"] == pytest.approx(log_z, abs=1e-12)
    found = ask("mar")
    assert found.keys() == always | {"log_z", "marginals"}
    for v, card in enumerate(CARDS):
        expected = [sum(p for s, p in table.items() if s[v] == k) / math.exp(log_z) for k in range(card)]
        assert found["marginals"][v] == pytest.approx(expected, abs=1e-12)  # type: ignore[index]
    found = ask("map")
    assert found.keys() == always | {"assignment", "score"}
    assert found["assignment"] == list(best)
    assert found["score"] == pytest.approx(math.log(table[best]), abs=1e-12)


@pytest.mark.parametrize("method", ["exact", "trp", "bp", "gbp", "ep", "mean_field", "trw"])
def test_log_z_alone_is_a_line(method: str, ring: Path, capsys: Captured) -> None:
    assert run(["infer", "ring.uai", "--task", "pr", "--method", method]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("log Z ")


def test_infer_says_when_a_method_did_not_converge(ring: Path, capsys: Captured) -> None:
    arguments = ["infer", "ring.uai", "--method", "bp", "--max-iterations", "1", "--tolerance", "1e-12", "--json"]
    assert run(arguments) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["converged"] is False
    assert err.startswith("warning: `bp` did not converge")
    assert run([*arguments, "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_infer_reports_a_graph_that_allows_nothing(here: Path, capsys: Captured) -> None:
    (here / "none.uai").write_text("MARKOV 1 2 2 1 0 1 0 2 1 0 2 0 1")
    assert run(["infer", "none.uai"]) == 1
    assert capsys.readouterr().err.startswith("error[no-assignment]: ")


@pytest.mark.parametrize("more", [[], ["--json"]])
@pytest.mark.parametrize("task", [["pr"], ["mar"], ["map"], ["map", "--nodes", "5"]])
def test_infer_sees_a_zero_that_no_variable_is_left_in(
    task: list[str], more: list[str], here: Path, capsys: Captured
) -> None:
    (here / "zero.uai").write_text("MARKOV 1 2 2 0 1 0 1 0.0 2 0.3 0.7")  # a factor of no variable
    (here / "pair.uai").write_text("MARKOV 2 2 2 1 2 0 1 4 0 0 1 1")
    (here / "all.evid").write_text("2 0 0 1 0")
    for files in (["zero.uai"], ["pair.uai", "--evidence", "all.evid"]):
        assert run(["infer", *files, "--task", *task, *more]) == 1
        out, err = capsys.readouterr()
        assert out == "" and err.startswith("error[no-assignment]: ")


def test_infer_refuses_a_factor_over_too_many_variables(here: Path, capsys: Captured) -> None:
    wide = " ".join(map(str, range(65)))
    (here / "wide.uai").write_text(f"MARKOV\n65\n{' '.join(['1'] * 65)}\n1\n65 {wide}\n\n1 1.0\n")
    assert run(["infer", "wide.uai"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("error[bad-uai]: factor 0 has 65 variables, at most 32 are read")
    assert "wide.uai:5" in err


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs the device /dev/zero")
@pytest.mark.parametrize("line", ["infer /dev/zero", "infer a.uai --evidence /dev/zero", "infer /dev/urandom"])
def test_infer_does_not_read_a_device_without_end(line: str, here: Path, capsys: Captured) -> None:
    (here / "a.uai").write_text("MARKOV 1 2 1 1 0 2 0.3 0.7")
    assert run(line.split()) == 1
    err = capsys.readouterr().err
    assert err.startswith("error[unreadable-file]: ") and "it is not text" in err


def test_the_next_command_can_be_typed(here: Path, capsys: Captured) -> None:
    assert run(["new", "linear_chain", "-o", "my chain.dcrf"]) == 0
    assert "  dcrfdsl check 'my chain.dcrf'\n" in capsys.readouterr().err
    assert run(["train", "chunk.dcrf", "train.txt", "-o", "-a.model"]) == 0
    assert "  dcrfdsl tag ./-a.model FILE\n" in capsys.readouterr().err
    (here / "its model").write_bytes(b"lCRF")
    assert run(["tag", "its model"]) == 1
    assert "dcrfdsl convert 'its model'\n" in capsys.readouterr().err


MISSPELT = {
    "train chunk.dcrf trian.txt -o a.model": "did you mean `train.txt`?",
    "train chunk.dcrf train.txt -o a.model --dev no/train.txt": "there is no folder `no`",
    "check chunks.dcrf": "did you mean `chunk.dcrf`?",
    "train chunk.dcrf train.txt -o a.model --from chnk.dcrf": "did you mean `chunk.dcrf`?",
    "infer trian.txt": "did you mean `train.txt`?",
    "fmt chunk.dcrf --features chunk.drcf": "did you mean `chunk.dcrf`?",
}


@pytest.mark.parametrize("line", MISSPELT)
def test_a_file_that_is_not_there_has_a_near_name(line: str, here: Path, capsys: Captured) -> None:
    assert run(line.split()) == 1
    assert f"help: {MISSPELT[line]}\n" in capsys.readouterr().err


def test_an_ending_alone_makes_no_name_near(here: Path, capsys: Captured) -> None:
    (here / "r.dcrf").write_text(TEMPLATE)
    assert run(["check", "none.dcrf"]) == 1
    assert "did you mean" not in capsys.readouterr().err


# templates --------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_new_writes_a_template_that_checks(here: Path, capsys: Captured) -> None:
    assert run(["new"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    assert sorted(names) == sorted(path.stem for path in resource_path("templates").glob("*.dcrf"))
    for name in names:
        for path in here.glob("*.txt"):  # lists that a template brought
            path.unlink()
        assert run(["new", name, "-o", f"{name}.mine.dcrf", "-q"]) == 0
        assert capsys.readouterr().err == ""
        assert run(["check", f"{name}.mine.dcrf"]) == 0, capsys.readouterr().err
        assert run(["fmt", "--check", f"{name}.mine.dcrf"]) == 0


@pytest.mark.long
def test_new_brings_data_that_a_template_learns_from(here: Path, capsys: Captured) -> None:
    assert run(["new"]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.endswith("Comes with data."))
    assert line.split()[0] == "linear_chain"
    (here / "my data").mkdir()
    assert run(["new", "linear_chain", "-o", "my data/chunk.dcrf"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[0].endswith("my data/linear_chain.txt and my data/linear_chain.test.txt, written too; next:")
    commands = [shlex.split(line) for line in said[1:]]
    assert [command[1] for command in commands] == ["check", "train"]
    for _, *arguments in commands:
        assert run(arguments) == 0
    capsys.readouterr()
    assert run(["eval", "my data/chunk.model", "my data/linear_chain.test.txt", "--json"]) == 0
    assert 0.9 < json.loads(capsys.readouterr().out)["segments(chunk).f1"] < 1.0
    assert run(["new", "linear_chain"]) == 0
    assert "`linear_chain.txt` and `linear_chain.test.txt`; `dcrfdsl new" in capsys.readouterr().err


def test_new_brings_the_lists_that_a_template_reads(here: Path, capsys: Captured) -> None:
    assert run(["new", "gazetteer"]) == 0
    assert "`places.txt` and `roles.txt`" in capsys.readouterr().err
    (here / "places.txt").write_text("mine\n")
    assert run(["new", "gazetteer", "-o", "ner.dcrf"]) == 1
    assert "`places.txt` exists already" in capsys.readouterr().err
    assert (here / "places.txt").read_text() == "mine\n" and not (here / "ner.dcrf").exists()
    (here / "sub").mkdir()
    assert run(["new", "gazetteer", "-o", "sub/ner.dcrf"]) == 0
    assert "sub/places.txt and sub/roles.txt, written too" in capsys.readouterr().err
    assert run(["check", "sub/ner.dcrf"]) == 0


def test_fmt_changes_layout_only_where_it_must(here: Path, capsys: Captured) -> None:
    path = here / "chunk.dcrf"
    assert run(["fmt", "--check", "chunk.dcrf"]) == 0
    path.write_text(TEMPLATE.replace("word, pos, chunk", "word,pos,  chunk"))
    assert run(["fmt", "--check", "chunk.dcrf"]) == 1
    assert path.read_text() != TEMPLATE
    assert run(["fmt", "chunk.dcrf"]) == 0
    assert path.read_text() == TEMPLATE


def test_messages_say_stdin(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"x y")))
    assert run(["check", "-"]) == 1
    assert capsys.readouterr().err.endswith("3 errors in <stdin>\n")


@pytest.mark.long
def test_stdin_is_a_dash(here: Path) -> None:
    commands = [["check", "-"], ["fmt", "-"], ["train", "-", "train.txt", "-o", "a.model"]]
    for command in commands:
        done = subprocess.run([*DCRFDSL, *command], input=TEMPLATE, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    done = subprocess.run([*DCRFDSL, "tag", "a.model", "-"], input=SENTENCES, capture_output=True, text=True)
    assert len(done.stdout.splitlines()) == len(SENTENCES.splitlines())


# from template to tags ----------------------------------------------------------------------------------------------


def test_train_json_is_the_contract(here: Path, capsys: Captured) -> None:
    command = ["train", "chunk.dcrf", "train.txt", "-o", "a.model", "--dev", "train.txt", "--json"]
    assert run(command) == 0
    *steps, last = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [step["iteration"] for step in steps] == list(range(1, len(steps) + 1))
    for step in steps:
        assert step.keys() == {"iteration", "objective", "gradient_norm", "seconds", "dev", "metric"}
    assert [step["seconds"] for step in steps] == sorted(step["seconds"] for step in steps)
    assert last.keys() == {
        "weights", "objective", "iterations", "converged", "seconds", "peak_mb", "stage", "model",
    }  # fmt: skip
    assert last["converged"] is True
    assert last["objective"] == pytest.approx(steps[-1]["objective"])
    assert last["iterations"] == len(steps)
    assert (last["stage"], last["model"]) == ("likelihood", "a.model")
    assert Path("a.model").is_file()


def test_train_ends_with_what_to_type_next(here: Path, capsys: Captured) -> None:
    assert run(["train", "chunk.dcrf", "train.txt", "-o", "my chunks.model"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[-2:] == ["  dcrfdsl tag 'my chunks.model' FILE", "  dcrfdsl eval 'my chunks.model' FILE"]


def test_train_is_silent_with_quiet(here: Path, capsys: Captured) -> None:
    assert run(["train", "chunk.dcrf", "train.txt", "-o", "a.model", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_set_reaches_the_training(here: Path, capsys: Captured) -> None:
    assert (
        run(
            [
                "train",
                "chunk.dcrf",
                "train.txt",
                "-o",
                "a.model",
                "--json",
                "--set",
                "train.optimizer=lbfgs(max_iterations=2)",
            ]
        )
        == 0
    )
    last = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (last["iterations"], last["converged"]) == (2, False)


def test_tag_appends_a_column(trained: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["tag", str(trained / "chunk.model"), str(trained / "train.txt")]) == 0
    lines = capsysbinary.readouterr().out.decode().splitlines()
    for line, before in zip(lines, SENTENCES.splitlines(), strict=True):
        assert line == (f"{before} {before.split()[-1]}" if before else "")


@pytest.mark.parametrize("more", [[], ["--marginals"], ["--nbest", "2"], ["--json"], ["--given"]], ids=" ".join)
def test_tag_writes_the_same_bytes_with_any_number_of_threads(
    trained: Path, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch, more: list[str]
) -> None:
    """One chunk after the other, or the next one read while this one is tagged."""
    monkeypatch.setattr("dcrfdsl.cli.tag_command._TOKENS_AT_ONCE", 1)
    found = []
    for threads in ("1", "2"):
        asked = ["tag", str(trained / "chunk.model"), str(trained / "train.txt"), "--threads", threads, *more]
        assert run(asked) == 0
        found.append(capsysbinary.readouterr().out)
    assert found[0] == found[1] != b""


@pytest.mark.parametrize("threads", ["1", "2"])
def test_tag_writes_what_comes_before_a_line_that_it_cannot_read(
    trained: Path, here: Path, capsysbinary: pytest.CaptureFixture[bytes], threads: str
) -> None:
    (here / "good.txt").write_text("Growth NN\n\n")
    (here / "bad.txt").write_text("Growth NN B-NP and more\n\n")
    assert run(["tag", str(trained / "chunk.model"), "good.txt", "bad.txt", "--threads", threads]) == 1
    out, err = capsysbinary.readouterr()
    assert out == b"Growth NN B-NP\n\n"
    assert b"bad.txt" in err and b"column-count" in err


def test_tag_takes_data_without_labels(trained: Path, here: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    (here / "bare.txt").write_text("The DT\ndeficit NN\n")
    (here / "one.txt").write_text("Growth NN\n")
    assert run(["tag", str(trained / "chunk.model"), "bare.txt", "one.txt"]) == 0
    assert capsysbinary.readouterr().out == b"The DT B-NP\ndeficit NN I-NP\n\nGrowth NN B-NP\n"


def test_tag_marginals_are_distributions(trained: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["tag", str(trained / "chunk.model"), str(trained / "train.txt"), "--marginals"]) == 0
    for line in filter(None, capsysbinary.readouterr().out.decode().splitlines()):
        *_, predicted, distribution = line.split()
        pairs = [item.rpartition(":") for item in distribution.split(";")]
        shares = [float(share) for _, _, share in pairs]
        assert pairs[0][0] == predicted
        assert shares == sorted(shares, reverse=True)
        assert sum(shares) == pytest.approx(1.0, abs=2e-4)


def test_eval_json_is_the_contract(trained: Path, capsys: Captured) -> None:
    assert run(["eval", str(trained / "chunk.model"), str(trained / "train.txt"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "segments(chunk).precision": 1.0,
        "segments(chunk).recall": 1.0,
        "segments(chunk).f1": 1.0,
        "accuracy(chunk)": 1.0,
        "tokens": 12,
        "sentences": 4,
        "unseen_labels": 0,
    }


def test_eval_prints_percentages(trained: Path, capsys: Captured) -> None:
    assert run(["eval", str(trained / "chunk.model"), str(trained / "train.txt")]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["segments(chunk)", "100.00", "100.00", "100.00"] in lines
    assert ["tokens:", "12"] in lines


def test_show_lists_the_strongest_weights_first(trained: Path, capsys: Captured) -> None:
    model = str(trained / "chunk.model")
    assert run(["show", model, "--json", "--top", "1000"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    sizes = [abs(row["weight"]) for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert {row["clique"] for row in rows} == {"words", "chain"}
    assert run(["show", model, "--json", "--clique", "wo*", "--containing", "=deficit", "--top", "1000"]) == 0
    chosen = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert chosen == [row for row in rows if row["clique"] == "words" and "=deficit" in row["feature"]]
    assert chosen


def test_show_gives_the_template_back(trained: Path, here: Path, capsys: Captured) -> None:
    assert run(["show", str(trained / "chunk.model"), "--template"]) == 0
    assert load_text(capsys.readouterr().out).require() == load_text(TEMPLATE).require()


def test_unroll_draws_in_three_formats(here: Path, capsys: Captured) -> None:
    assert run(["unroll", "chunk.dcrf", "train.txt", "-n", "2"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert listed[0] == "sentence 2 of train.txt: 3 variables, 5 factors"
    assert "      word=deficit" in listed
    assert run(["unroll", "chunk.dcrf", "train.txt", "-n", "2", "-o", "a.svg", "-q"]) == 0
    drawn = ElementTree.parse("a.svg").getroot()
    assert sum(element.tag.endswith("circle") for element in drawn.iter()) == 3
    assert run(["unroll", "chunk.dcrf", "train.txt", "-n", "2", "--format", "dot"]) == 0
    assert capsys.readouterr().out.startswith("graph unrolled {")


@pytest.mark.long
def test_the_first_interrupt_saves_a_usable_model(here: Path) -> None:
    """Training that would go on for long is stopped after its first iteration."""
    (here / "large.txt").write_text(SENTENCES * 5000)
    settings = "train.optimizer=lbfgs(tolerance=1e-300, max_iterations=1000000)"
    process = subprocess.Popen(
        [*DCRFDSL, "train", "chunk.dcrf", "large.txt", "-o", "a.model", "--json", "--set", settings],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert "stopping after this iteration" in err
    last = json.loads(out.splitlines()[-1])
    assert last["converged"] is False
    assert last["iterations"] < 20
    assert run(["eval", "a.model", "train.txt", "--quiet"]) == 0


def test_the_second_interrupt_ends_at_once(capsys: Captured) -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), Interruption(Talk(quiet=False)) as interruption:
        interruption.training()
        assert not interruption.requested()
        signal.raise_signal(signal.SIGINT)
        assert interruption.requested()
        assert "Ctrl-C again stops at once" in capsys.readouterr().err
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_an_end_with_nothing_to_save_has_the_number_of_its_signal() -> None:
    """As where `--tune` was to stop before a trial had begun."""
    with pytest.raises(EndedBySignal) as ended, Interruption(Talk(quiet=True)) as interruption:
        interruption.training()
        signal.raise_signal(signal.SIGTERM)
        raise KeyboardInterrupt
    assert ended.value.number == signal.SIGTERM


# what a template costs ----------------------------------------------------------------------------------------------


def cost_lines(arguments: list[str], capsys: Captured) -> list[str]:
    """The lines that `check` prints, single spaces between words."""
    assert run(["check", *arguments]) == 0
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_check_without_data_shows_what_declared_states_cost(here: Path, capsys: Captured) -> None:
    lines = cost_lines(["chunk.dcrf"], capsys)
    assert "words ? chunk ? ?" in lines
    assert any("`chunk`" in line for line in lines)
    (here / "declared.dcrf").write_text(TEMPLATE.replace("label chunk", "label chunk in bio(NP, VP)"))
    lines = cost_lines(["declared.dcrf"], capsys)
    assert "words 5 5 ?" in lines
    assert "chain 5 × 5 25 ?" in lines
    assert "one sweep 50 multiply-adds a token" in lines


def test_check_with_data_counts_the_weights_that_training_gives(trained: Path, capsys: Captured) -> None:
    lines = cost_lines([str(trained / "chunk.dcrf"), "--data", str(trained / "train.txt")], capsys)
    assert run(["show", str(trained / "chunk.model"), "--json", "--top", "100000"]) == 0
    rows = [json.loads(line)["clique"] for line in capsys.readouterr().out.splitlines()]
    assert f"words 3 3 {rows.count('words')}" in lines
    assert f"chain 3 × 3 9 {rows.count('chain')}" in lines
    assert f"weights {len(rows)}" in lines
    # a chain of 3 states: summing a variable out makes a message of 3 from a table of 9
    assert "exact 9 multiply-adds a token; treewidth 1, largest table 3" in lines
    assert "one sweep 18 multiply-adds a token" in lines
    assert "data 4 sentences, 12 tokens" in lines


SILENT = {
    "word is zebra": "warning[silent-feature]: the feature `word is zebra` never fires",
    "word in animals": "warning[idle-lexicon]: lexicon `animals` (2 entries) matches 0 of 12",
}


@pytest.mark.parametrize("feature", SILENT)
def test_check_with_data_warns_of_what_never_fires(feature: str, here: Path, capsys: Captured) -> None:
    (here / "animals.txt").write_text("zebra\ngnu\n")
    template = TEMPLATE.replace("pos[-1..1]", feature)
    (here / "a.dcrf").write_text(template.replace("label chunk", 'lexicon animals = "animals.txt"\nlabel chunk'))
    assert run(["check", "a.dcrf", "--data", "train.txt"]) == 0
    assert SILENT[feature] in capsys.readouterr().err


def test_check_with_data_refuses_gold_that_cannot_be_trained_on(here: Path, capsys: Captured) -> None:
    (here / "a.dcrf").write_text(TEMPLATE.replace("label chunk", "label chunk in bio(VP)"))
    assert run(["check", "a.dcrf", "--data", "train.txt"]) == 1
    assert "error[unknown-label]: " in capsys.readouterr().err


def test_check_explains_a_slug(capsys: Captured) -> None:
    assert run(["check", "--explain", "unknown-name"]) == 0
    assert capsys.readouterr().out.startswith("message unknown-name\n\n")
    assert run(["check", "--explain", "unknown-nmae"]) == 1
    assert "did you mean `unknown-name`?" in capsys.readouterr().err
    assert run(["check"]) == 2
