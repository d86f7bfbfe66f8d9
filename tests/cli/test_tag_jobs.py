"""`tag --jobs`: processes give the same output, in the same order, and the same notes; they end with the command."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dcrfdsl.cli.tag_command as tag_command
from dcrfdsl.cli import run
from dcrfdsl.cli.tagging import Tagger
from dcrfdsl.foundation import processes

WORDS = ("the", "dog", "a", "cat", "sleeps", "dogs")
TAGS = {"the": "D", "a": "D", "dog": "N", "cat": "N", "dogs": "N", "sleeps": "V"}
REST = (
    "label tag in {D, N, V}\nclique tag: word\nclique tag[-1], tag with edges = pad\nforbid tag[-1] is V and tag is V\n"
)


def sentences(count: int) -> list[list[str]]:
    """None has a verb after a verb."""
    return [[WORDS[(n + (1 + 4 * (n % 2)) * k) % 6] for k in range(1 + n % 5)] for n in range(1, count + 1)]


def conll(count: int) -> str:
    return "".join("".join(f"{word} {TAGS[word]}\n" for word in words) + "\n" for words in sentences(count))


def jsonl(count: int) -> str:
    return "".join(
        json.dumps({"word": words, "tag": [TAGS[word] for word in words]}) + "\n" for words in sentences(count)
    )


def csv(count: int) -> str:
    rows = [f"{n},{word},{TAGS[word]}" for n, words in enumerate(sentences(count)) for word in words]
    return "\n".join(["sentence,word,tag", *rows]) + "\n"


FORMATS = {
    "conll": ("data conll(word, tag)", conll),
    "jsonl": ("data jsonl(word, tag)", jsonl),
    "csv": ("data csv(word, tag, sentence = sentence)", csv),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("models")
    for name, (data, write) in FORMATS.items():
        (place / f"{name}.dcrf").write_text(f"{data}\n{REST}")
        (place / f"{name}.train").write_text(write(12))
        (place / f"{name}.txt").write_text(write(60))
        arguments = ["train", place / f"{name}.dcrf", place / f"{name}.train", "-o", place / f"{name}.model", "-q"]
        assert run([str(argument) for argument in arguments]) == 0
    (place / "given.txt").write_text("the D\ncat V\nsleeps V\n\na _\n\n" * 20)  # no labelling has V after V
    return place


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(tag_command, "_TOKENS_AT_ONCE", 8)
    yield
    assert not multiprocessing.active_children()


CASES = {
    "columns": "conll conll.txt",
    "two files": "conll conll.txt conll.train",
    "marginals": "conll conll.txt --marginals",
    "the best three": "conll conll.txt --nbest 3",
    "JSON": "conll conll.txt conll.train --json --marginals",
    "JSON of the best two": "conll conll.txt --json --nbest 2 --clique-marginals",
    "no labelling": "conll given.txt --given",
    "no labelling in a list": "conll given.txt --given --nbest 2",
    "JSON lines": "jsonl jsonl.txt",
    "one header": "csv csv.txt csv.txt",
}


@pytest.mark.parametrize("case", CASES)
def test_jobs_give_the_same_output(
    case: str, models: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(models)
    name, *arguments = CASES[case].split()
    outputs = []
    for jobs in (["--threads", "1"], ["--jobs", "2"], ["--jobs", "3", "--threads", "1"]):
        assert run(["tag", f"{name}.model", *arguments, *jobs]) == 0
        outputs.append(capfdbinary.readouterr())
    assert outputs[0].out.count(b"\n") >= 60
    assert outputs[0] == outputs[1] == outputs[2]


def test_bad_input_after_good_is_one_message(
    models: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (tmp_path / "bad.txt").write_text(conll(40) + "a b c d\n\n" + conll(10))
    for jobs in ("1", "2"):
        assert run(["tag", str(models / "conll.model"), str(tmp_path / "bad.txt"), "--jobs", jobs]) == 1
        assert b"bad.txt:" in capfdbinary.readouterr().err


def test_a_process_that_dies_is_one_message(
    models: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    parent, answer = os.getpid(), Tagger.answer

    def dying(self: Tagger, question: object) -> object:
        if os.getpid() != parent:
            os._exit(9)
        return answer(self, question)  # type: ignore[arg-type]

    monkeypatch.setattr(Tagger, "answer", dying)
    assert run(["tag", str(models / "conll.model"), str(models / "conll.txt"), "--jobs", "2"]) == 1
    assert "error[lost-process]" in capfd.readouterr().err


@pytest.mark.parametrize(("sentences", "expected"), [(1, (0,)), (10, (1, 2, 3)), (60, (5,))])
def test_there_are_no_more_processes_than_parts(
    sentences: int, expected: tuple[int, ...], models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts: list[int] = []

    def counted(count: int, *begin: Any, **how: Any) -> Any:
        counts.append(count)
        return processes(count, *begin, **how)

    monkeypatch.setattr(tag_command, "processes", counted)
    (tmp_path / "some.txt").write_text(conll(sentences))
    assert run(["tag", str(models / "conll.model"), str(tmp_path / "some.txt"), "--jobs", "5"]) == 0
    assert sum(counts) in expected


@pytest.mark.parametrize("command", ["tag m", "cv t.dcrf d", "train t.dcrf d -o m --tune --dev d"])
@pytest.mark.parametrize("jobs", ["0", "1001", "9" * 20])
def test_a_number_of_jobs_that_cannot_be_is_wrong_usage(
    command: str, jobs: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run([*command.split(), "--jobs", jobs]) == 2
    assert f"{jobs} is not in the range 1<=x<=1000" in capfd.readouterr().err


def test_jobs_collect_text(models: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["tag", str(models / "conll.model"), "--jobs", "2", "--flush"]) == 1
    assert "error[idle-option]" in capfd.readouterr().err


# ends ---------------------------------------------------------------------------------------------------------------

RUN = [sys.executable, "-c", "from dcrfdsl.cli import main; main()"]


def children_of(process: int) -> set[int]:
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == process:
            found.add(int(stat.parent.name))
    return found


def is_there(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("how", ["Ctrl-C", "SIGTERM", "SIGKILL", "the reader leaves"])
def test_no_process_outlives_the_command(how: str, models: Path) -> None:
    """The input never ends; whatever ends the command, its processes are gone a moment later."""
    text = conll(60).encode() * 2_000
    running = subprocess.Popen(
        [*RUN, "tag", str(models / "conll.model"), "-", "--jobs", "2"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert running.stdin is not None and running.stdout is not None
    feeder = subprocess.Popen(
        [sys.executable, "-c", "import sys\ntext = sys.stdin.buffer.read()\nwhile True: sys.stdout.buffer.write(text)"],
        stdin=subprocess.PIPE, stdout=running.stdin, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        running.stdin.close()
        assert feeder.stdin is not None
        feeder.stdin.write(text)
        feeder.stdin.close()
        until = time.monotonic() + 120
        while len(children := children_of(running.pid)) < 2:
            assert running.stdout.read(65536) and time.monotonic() < until
        if how == "the reader leaves":
            running.stdout.close()
        elif how == "Ctrl-C":
            os.killpg(running.pid, signal.SIGINT)
        else:
            running.send_signal(signal.SIGTERM if how == "SIGTERM" else signal.SIGKILL)
        code = running.wait(60)
        assert code in {"Ctrl-C": {130}, "the reader leaves": {0}, "SIGTERM": {-15}, "SIGKILL": {-9}}[how]
        until = time.monotonic() + 10
        while any(map(is_there, children)):
            assert time.monotonic() < until
            time.sleep(0.05)
        assert running.stderr is not None and b"Traceback" not in running.stderr.read()
    finally:
        for process in (running, feeder):
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
