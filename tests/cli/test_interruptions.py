"""What ends a command before its time: signals, closed streams, full disks. Nothing that is finished is lost."""

from __future__ import annotations

import fcntl
import json
import os
import random
import resource
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.foundation.files.whole_files import ensure_writable, write_whole
from dcrfdsl.model.trained_model import TrainedModel

pytestmark = pytest.mark.long

LONG = 180.0  # seconds that a command may take where others keep the machine busy
RUN = [sys.executable, "-c", "from dcrfdsl.cli import main; main()"]
TEMPLATE = "data conll(word, tag)\nlabel tag\nclique tag: word\nclique tag[-1], tag\ninfer exact\n"
SLOW = "train likelihood: optimizer = sgd(epochs = 100000, tolerance = 1e-300)\n"
DATA = "the D\ndog N\nsleeps V\n\na D\ncat N\n\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "quick.dcrf").write_text(TEMPLATE)
    (tmp_path / "slow.dcrf").write_text(TEMPLATE + SLOW)
    (tmp_path / "data").write_text(DATA * 20)
    return tmp_path


BEGUN: list[subprocess.Popen[bytes]] = []


@pytest.fixture(autouse=True)
def _nothing_goes_on() -> Iterator[None]:
    """What a test that failed has left running is ended."""
    yield
    while BEGUN:
        running = BEGUN.pop()
        if running.poll() is None:
            running.kill()
            running.communicate()


def _as_in_a_terminal() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def begin(place: Path, *arguments: str, **how: object) -> subprocess.Popen[bytes]:
    # where the tests run under `nohup`, a program would inherit that hang-ups are ignored
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "preexec_fn": _as_in_a_terminal, **how}
    BEGUN.append(subprocess.Popen([*RUN, *arguments], cwd=place, **pipes))  # type: ignore[call-overload]
    return BEGUN[-1]


def end(running: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    out, error = running.communicate(timeout=LONG)
    return running.returncode, (out or b"").decode(), (error or b"").decode()


def wait_for(is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + LONG
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)


def rows(path: Path) -> int:
    return path.read_text().count("\n") if path.exists() else 0


def strangers(place: Path) -> list[str]:
    return [path.name for path in place.iterdir() if path.name.startswith(".")]


# signals ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_saves_a_model_and_the_curve_is_there_before(place: Path, number: signal.Signals) -> None:
    running = begin(place, "train", "slow.dcrf", "data", "-o", "a.model", "--curve", "a.csv", "--threads", "1")
    wait_for(lambda: rows(place / "a.csv") > 5)  # while training goes on
    running.send_signal(number)
    code, _, error = end(running)
    assert code == 0, error
    assert "the model will be saved" in error and "stopped on request" in error
    model = TrainedModel.load(place / "a.model")
    assert rows(place / "a.csv") == 1 + model.record.iterations
    assert strangers(place) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_second_signal_ends_at_once(place: Path, number: signal.Signals) -> None:
    (place / "data").write_text(DATA * 1_000)  # an iteration takes long enough for two signals
    running = begin(place, "train", "slow.dcrf", "data", "-o", "a.model", "--curve", "a.csv", "--threads", "1")
    wait_for(lambda: rows(place / "a.csv") > 1)
    running.send_signal(number)
    time.sleep(0.05)
    running.send_signal(number)
    code, _, error = end(running)
    # 0: it was between two iterations already, and the second came while it saved; -number: when it had saved, and no
    # longer listened.
    assert code in (0, 128 + number, -number)
    assert (place / "a.model").exists() == (code != 128 + number)
    assert "Traceback" not in error
    assert strangers(place) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_before_training_there_is_nothing_to_save(place: Path, number: signal.Signals) -> None:
    os.mkfifo(place / "slow_data")
    running = begin(place, "train", "quick.dcrf", "slow_data", "-o", "a.model")
    with open(place / "slow_data", "wb", buffering=0) as stream:  # it has come to reading
        stream.write(DATA.encode())
        time.sleep(0.2)
        running.send_signal(number)
        code, _, error = end(running)
    assert (code, error.splitlines()[-1]) == (128 + number, "interrupted")
    assert sorted(path.name for path in place.iterdir()) == ["data", "quick.dcrf", "slow.dcrf", "slow_data"]


def test_a_hang_up_that_is_ignored_stays_ignored(place: Path) -> None:
    def ignore() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    running = begin(place, "train", "slow.dcrf", "data", "-o", "a.model", "--curve", "a.csv", "-q", preexec_fn=ignore)
    wait_for(lambda: rows(place / "a.csv") > 3)
    running.send_signal(signal.SIGHUP)
    before = rows(place / "a.csv")
    wait_for(lambda: rows(place / "a.csv") > before + 5)
    running.send_signal(signal.SIGINT)
    assert end(running)[0] == 0


# a writer that is killed --------------------------------------------------------------------------------------------

WRITER = """
import sys
from dcrfdsl.foundation.files import whole_files as files
if sys.argv[2] == "named": files._open_unnamed = lambda directory: None
print(flush=True)
for n in range(10 ** 9): files.write_whole(sys.argv[1], [bytes([65 + n % 26]) * 100_000 for _ in range(20)])
"""


@pytest.mark.long
@pytest.mark.parametrize("how", ["unnamed", "named"])
def test_a_killed_writer_leaves_a_whole_file_and_nothing_else(tmp_path: Path, how: str) -> None:
    """kill -9 at random moments: the old or the new file is whole, and the next writer removes what is left."""
    moments, target = random.Random(5), tmp_path / "a.model"
    write_whole(target, [b"a" * 2_000_000])
    for _ in range(15):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(target), how], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        writer.stdout.readline()
        time.sleep(moments.uniform(0.0, 0.1))
        writer.kill()
        writer.wait()
        writer.stdout.close()
        found = target.read_bytes()
        assert len(found) == 2_000_000 and len(set(found)) == 1
    write_whole(target, [b"b"])
    assert target.read_bytes() == b"b" and strangers(tmp_path) == []


@pytest.mark.long
def test_a_killed_training_leaves_the_old_model_or_the_new_one(place: Path) -> None:
    moments = random.Random(7)
    begun = time.monotonic()
    assert subprocess.run([*RUN, "train", "quick.dcrf", "data", "-o", "a.model", "-q"], cwd=place).returncode == 0
    lasts = time.monotonic() - begun
    for _ in range(6):
        running = begin(place, "train", "quick.dcrf", "data", "-o", "a.model", "-q")
        time.sleep(moments.uniform(0.5, 1.1) * lasts)
        running.kill()
        end(running)
        TrainedModel.load(place / "a.model")
    write_whole(place / "b.model", [b"b"])
    assert strangers(place) == []


def test_leftovers_of_a_living_writer_stay(tmp_path: Path) -> None:
    """Only what no process holds a lock on is left over; names that are not ours are nobody's business."""
    left, others = tmp_path / f".dcrfdsl-{'0' * 16}.tmp", tmp_path / ".dcrfdsl-notes.tmp"
    held = tmp_path / f".dcrfdsl-{'1' * 16}.tmp"
    left.write_text("half"), others.write_text("mine")
    import fcntl

    with open(held, "w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        write_whole(tmp_path / "a", [b"whole"])
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted([held.name, others.name, "a"])


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    write_whole(tmp_path / "a", [b"x"])
    (tmp_path / "plain").write_text("x")
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


# streams and disks ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("trained")
    (place / "t.dcrf").write_text(TEMPLATE + "train likelihood: optimizer = sgd(epochs = 1)\n")
    (place / "data").write_text(DATA * 20)
    code, _, error = end(
        begin(place, "train", "t.dcrf", "data", "-o", "a.model", "--set", "train.optimizer=sgd(epochs=1)")
    )
    assert code == 0, error
    (place / "data").write_text(DATA * 5_000)  # more than the buffers of pipes hold
    return place


def test_a_reader_that_has_seen_enough(trained: Path) -> None:
    command = f"{sys.executable} -c 'from dcrfdsl.cli import main; main()' tag a.model data -q | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=trained, capture_output=True, timeout=LONG)
    assert (done.returncode, done.stdout.decode(), done.stderr.decode()) == (0, "the D D\n", "")


LEAVES = """
import time
import re2
import dcrfdsl.cli
from dcrfdsl.cli.command_files import prefetched

def items():
    yield 1
    pattern, text = re2.compile("x+y"), "x" * 1000
    while True:
        pattern.search(text)

def run(_):
    for _ in prefetched(items()):
        time.sleep(0.2)
        return 3

dcrfdsl.cli.run = run
dcrfdsl.cli.main()
"""


def test_a_command_may_end_while_text_is_prepared(tmp_path: Path) -> None:
    """As `tag … | head` does. Python ends the other thread, and that must not abort the process."""
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", LEAVES], cwd=tmp_path, capture_output=True, timeout=LONG)
        assert (done.returncode, done.stderr) == (3, b"")


def test_training_goes_on_when_nobody_reads_its_lines(place: Path) -> None:
    command = (
        f"{sys.executable} -c 'from dcrfdsl.cli import main; main()' train quick.dcrf data -o a.model --json | head -1"
    )
    done = subprocess.run(["bash", "-c", command], cwd=place, capture_output=True, timeout=LONG)
    assert json.loads(done.stdout)["iteration"] == 1 and b"Traceback" not in done.stderr
    assert TrainedModel.load(place / "a.model").record.converged


@pytest.mark.parametrize("options", [(), ("--json",), ("--nbest", "2")])
def test_a_full_disk_behind_stdout(trained: Path, options: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as full:
        code, _, error = end(begin(trained, "tag", "a.model", "data", "-q", *options, stdout=full))
    assert (code, error.strip()) == (1, "error[file-error]: the output cannot be written: no space left on device")


@pytest.mark.parametrize("stdout", [None, "/dev/full"])
def test_a_full_disk_behind_stderr_costs_no_model(stdout: str | None, place: Path) -> None:
    options = () if stdout is None else ("--json",)
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with open("/dev/full", "wb") as full:
        streams = {"env": buffered, "stderr": full, "stdout": subprocess.PIPE if stdout is None else full}
        code = end(begin(place, "train", "quick.dcrf", "data", "-o", "a.model", *options, **streams))[0]
    assert code == (0 if stdout is None else 1)
    assert TrainedModel.load(place / "a.model").record.converged


@pytest.mark.parametrize("words", ["--version", "--help", "train --help"])
def test_help_that_cannot_be_written_says_so(tmp_path: Path, words: str) -> None:
    wrong = "error[file-error]: the output cannot be written: "
    with open("/dev/full", "wb") as full:
        code, _, error = end(begin(tmp_path, *words.split(), stdout=full))
    assert (code, error.strip()) == (1, wrong + "no space left on device")
    code, _, error = end(begin(tmp_path, *words.split(), stdout=None, preexec_fn=closing(1)))
    assert (code, error.strip()) == (1, wrong + "bad file descriptor")


def closing(*numbers: int) -> Callable[[], None]:
    def close() -> None:
        for number in numbers:
            os.close(number)

    return close


def test_a_closed_stdout(trained: Path) -> None:
    running = begin(trained, "tag", "a.model", "data", "-q", stdout=None, preexec_fn=closing(1))
    code, _, error = end(running)
    assert (code, error.strip()) == (1, "error[file-error]: the output cannot be written: bad file descriptor")


def test_training_needs_no_standard_stream(place: Path) -> None:
    running = begin(
        place, "train", "quick.dcrf", "data", "-o", "a.model", stdout=None, stderr=None, preexec_fn=closing(0, 1, 2)
    )
    assert end(running)[0] == 0
    assert TrainedModel.load(place / "a.model").record.converged


def test_a_closed_stderr_sends_no_talk_to_stdout(trained: Path) -> None:
    code, out, _ = end(begin(trained, "tag", "a.model", "data", "--marginals", stderr=None, preexec_fn=closing(2)))
    assert code == 0 and out.startswith("the D D D:")


def test_a_disk_that_fills_up_while_a_model_is_saved(place: Path) -> None:
    """A limit on the size of files stands for it. The old model stays, and no half one."""
    (place / "a.model").write_bytes(b"old")

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, 2_000))

    running = begin(place, "train", "quick.dcrf", "data", "-o", "a.model", "-q", preexec_fn=limit)
    code, _, error = end(running)
    assert code == 1 and "error[disk-full]" in error, error
    assert (place / "a.model").read_bytes() == b"old" and strangers(place) == []


def test_a_directory_that_vanishes_during_training_costs_no_model(place: Path) -> None:
    (place / "out").mkdir()
    running = begin(place, "train", "slow.dcrf", "data", "-o", "out/a.model", "--curve", "a.csv", "-q")
    wait_for(lambda: rows(place / "a.csv") > 3)
    (place / "out").rmdir()
    running.send_signal(signal.SIGTERM)
    code, _, error = end(running)
    assert code == 1 and "the model has been saved as `" in error, error
    refuge = Path(error.partition("saved as `")[2].partition("`")[0])
    assert TrainedModel.load(refuge).num_weights > 0
    refuge.unlink()


@pytest.mark.parametrize("target", ["read_only/a.model", "missing/a.model", "directory"])
def test_a_target_that_cannot_be_written_is_said_before_training(place: Path, target: str) -> None:
    (place / "read_only").mkdir(mode=0o555)
    (place / "directory").mkdir()
    (place / "data").unlink()  # would be missed first if anything were read
    code, _, error = end(begin(place, "train", "quick.dcrf", "data", "-o", target))
    assert code == 1 and error.startswith("error["), error
    assert "data" not in error.splitlines()[0]
    with pytest.raises(DcrfError):
        ensure_writable(place / target)


def test_two_trainings_to_one_model_leave_a_whole_one(place: Path) -> None:
    both = [begin(place, "train", "quick.dcrf", "data", "-o", "a.model", "-q") for _ in range(2)]
    assert [end(one)[0] for one in both] == [0, 0]
    assert TrainedModel.load(place / "a.model").record.converged and strangers(place) == []


def test_two_trainings_to_one_curve_do_not_mix(place: Path) -> None:
    kept = "stage,start,iteration\n"
    (place / "a.csv").write_text(kept)
    with open(place / "a.csv", "a") as other:  # as another training holds it
        fcntl.flock(other, fcntl.LOCK_EX)
        code, _, error = end(begin(place, "train", "quick.dcrf", "data", "-o", "b.model", "--curve", "a.csv", "-q"))
    assert code == 1 and "another training is writing its learning curve" in error
    assert (place / "a.csv").read_text() == kept and not (place / "b.model").exists()
