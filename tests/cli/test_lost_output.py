"""Output that gets no place, buffered or not: all bytes, or exit code 1 and a message; a trained model stays."""

from __future__ import annotations

import itertools
import os
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from dcrfdsl.cli import run
from dcrfdsl.model.trained_model import TrainedModel

pytestmark = pytest.mark.long  # each starts programs
RUN = [sys.executable, "-c", "from dcrfdsl.cli import main; main()"]
TEMPLATE = (
    "data conll(word, tag)\nlabel tag\nclique tag: bias, word\nclique tag[-1], tag\ninfer exact\n"
    "let V = 1.0 tune among(1.0, 2.0)\n"
    "train likelihood: optimizer = lbfgs(max_iterations = 5), prior = gaussian(variance = V)\n"
)
ROOM = 16_384  # bytes that a file may have
FULL = "error[file-error]: the output cannot be written: "
TAG = ("tag", "a.model", "long", "-q")
CONVERT = ("convert", "long", "--from", "conll(word, tag)", "--to", "csv(word, tag)", "-q")
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device /dev/full")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("place")
    (folder / "a.dcrf").write_text(TEMPLATE)
    (folder / "data").write_text("the D\ndog N\n\na D\n\n" * 5)
    (folder / "long").write_text("the D\ndog N\na D\n\n" * 6_000)
    assert run(["train", str(folder / "a.dcrf"), str(folder / "data"), "-o", str(folder / "a.model"), "-q"]) == 0
    return folder


def environment(unbuffered: bool) -> dict[str, str]:
    return {**os.environ, "PYTHONUNBUFFERED": "1" if unbuffered else ""}


def _little_room() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM))


@pytest.mark.parametrize("command", [TAG, (*TAG, "--json"), CONVERT], ids=["tag", "tag --json", "convert"])
@pytest.mark.parametrize("unbuffered", [False, True])
def test_a_file_that_takes_a_part(place: Path, tmp_path: Path, command: tuple[str, ...], unbuffered: bool) -> None:
    with open(tmp_path / "out", "wb") as out:
        done = subprocess.run(
            [*RUN, *command], cwd=place, env=environment(unbuffered), stdout=out, stderr=subprocess.PIPE,
            preexec_fn=_little_room, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr.decode()) == (1, FULL + "file too large\n")
    assert (tmp_path / "out").stat().st_size == ROOM


@pytest.mark.parametrize("unbuffered", [False, True])
def test_a_pipe_that_does_not_block_gets_every_line(place: Path, unbuffered: bool) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    running = subprocess.Popen([*RUN, *TAG], cwd=place, env=environment(unbuffered), stdout=writing)
    os.close(writing)
    got = os.read(reading, 1)
    time.sleep(1)  # the pipe is full by then
    while part := os.read(reading, 65536):
        got += part
    os.close(reading)
    assert running.wait() == 0
    assert got.count(b"\n") == (place / "long").read_bytes().count(b"\n")


def test_a_pipe_that_does_not_block_is_read_to_its_end(place: Path) -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)

    def write() -> None:
        for _ in range(3):
            time.sleep(2)
            os.write(writing, b"the D\n\n" * 10)
        os.close(writing)

    threading.Thread(target=write).start()
    command = [*RUN, "eval", "a.model", "-", "-q", "--json"]
    done = subprocess.run(command, cwd=place, stdin=reading, capture_output=True, check=False)
    os.close(reading)
    assert done.returncode == 0, done.stderr
    assert b'"sentences": 30,' in done.stdout


# training -------------------------------------------------------------------------------------------------------------


@needs_full
@pytest.mark.parametrize("option", ["--curve", "--log"])
@pytest.mark.parametrize("quiet", [(), ("-q",)])
def test_a_file_of_lines_that_ends_early(
    place: Path, tmp_path: Path, option: str, quiet: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    full = tmp_path / "full.csv"
    full.symlink_to("/dev/full")
    model = tmp_path / "b.model"
    words = ["train", str(place / "a.dcrf"), str(place / "data"), "-o", str(model), option, str(full), *quiet]
    assert run(words) == 1
    what = "learning curve" if option == "--curve" else "log"
    error = capsys.readouterr().err
    message = f"the {what} in `{full}` ends early: no space left on device"
    assert error.count(message) == 1 and f"error[file-error]: {message}" in error
    if quiet:
        assert error == f"error[file-error]: {message}\n"
    assert message in TrainedModel.load(model).record.notes


@needs_full
@pytest.mark.parametrize("unbuffered", [False, True])
@pytest.mark.parametrize("tune", [(), ("--tune", "--dev", "data")], ids=["train", "tune"])
def test_lines_of_json_that_are_lost(place: Path, tmp_path: Path, tune: tuple[str, ...], unbuffered: bool) -> None:
    model = tmp_path / "c.model"
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*RUN, "train", "a.dcrf", "data", "-o", str(model), "--json", "-q", *tune], cwd=place, stdout=full,
            env=environment(unbuffered), stderr=subprocess.PIPE, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr.decode()) == (1, FULL + "no space left on device\n")
    assert TrainedModel.load(model).record.iterations > 0


def test_lines_of_json_that_are_lost_before_there_is_room_again(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever reads the lines would take those of the first iterations for all of them."""
    counted, write = itertools.count(1), sys.stdout.write

    def full_at_the_second(text: str) -> int:
        if next(counted) == 3:  # `print` writes a line and its end
            raise OSError(28, "No space left on device")
        return write(text)

    monkeypatch.setattr(sys.stdout, "write", full_at_the_second)
    model = tmp_path / "d.model"
    assert run(["train", str(place / "a.dcrf"), str(place / "data"), "-o", str(model), "--json", "-q"]) == 1
    out, error = capsys.readouterr()
    assert len(out.splitlines()) == 2 and error == FULL + "no space left on device\n"
    assert TrainedModel.load(model).record.iterations > 1


@needs_full
def test_a_table_of_trials_that_cannot_be_shown_costs_no_model(place: Path, tmp_path: Path) -> None:
    model = tmp_path / "e.model"
    with open("/dev/full", "wb") as full:
        command = [*RUN, "train", "a.dcrf", "data", "-o", str(model), "--tune", "--dev", "data"]
        assert subprocess.run(command, cwd=place, stderr=full, check=False).returncode == 0
    assert model.exists()
