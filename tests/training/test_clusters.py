"""Training by Dask workers: the bits of one machine, for any number of workers and after losses."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_parts import CHAIN, REFUSED, ending, parted, written

from dcrfdsl.features import feature
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.optimizers.objective import Iteration
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.checkpoints import Checkpoint
from dcrfdsl.training.parts.corpus_parts import open_parts
from dcrfdsl.training.parts.part_runners import ClusterRunner, InTurn, cluster_client, part_runner
from dcrfdsl.training.pipeline import fit

pytest.importorskip("distributed", reason="dask is not installed: pip install -e '.[dask]'")
pytestmark = pytest.mark.long
TEXT = f"{CHAIN}train likelihood: optimizer = lbfgs(max_iterations = 12)\n"


EXPECTED = f"{CHAIN}expect y is O with share = 0.9\ntrain likelihood: optimizer = lbfgs(max_iterations = 5)\n"
STAGES = {  # -> workers
    TEXT: (1, 2, 4), EXPECTED: (2,), f"{CHAIN}train hmsvm\n": (2,), f"{CHAIN}train perceptron\n": (2,),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "counts"), STAGES.items(), ids=["likelihood", "expected share", "hmsvm", "perceptron"]
)
def test_any_number_of_workers_gives_the_bits_of_one_machine(
    text: str, counts: tuple[int, ...], tmp_path: Path
) -> None:
    resolved, path = load_text(text), written(tmp_path)
    alone = fit(resolved, parted(path, resolved, tmp_path, 8))
    for count in counts:  # with tasks of blocks of several parts, of fewer, and of one
        with cluster_client(None, count, 2) as client:
            cache = tmp_path / f"cache-{count}"
            model = fit(resolved, open_parts(path, resolved, cache=cache, part_tokens=8, cluster=client))
        np.testing.assert_array_equal(model.weights, alone.weights)
        assert model.record.objective == alone.record.objective


def test_processes_that_end_late_are_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster_class = pytest.importorskip("distributed").LocalCluster
    close = cluster_class.close

    def late(cluster: Any) -> None:
        close(cluster)
        raise TimeoutError

    monkeypatch.setattr(cluster_class, "close", late)
    with pytest.raises(KeyboardInterrupt), cluster_client(None, 1, 1):
        raise KeyboardInterrupt


def test_training_goes_on_when_workers_are_killed(tmp_path: Path) -> None:
    resolved, path = load_text(TEXT), written(tmp_path)
    parts = parted(path, resolved, tmp_path)
    alone, killed = fit(resolved, parts), list[int]()
    with cluster_client(None, 2, 2) as client:

        def kill(step: Iteration) -> None:
            if step.iteration in (2, 5, 8):
                worker = sorted(client.run(os.getpid).values())[-1]
                os.kill(worker, signal.SIGKILL)
                killed.append(worker)

        model = fit(resolved, replace(parts, cluster=client), on_iteration=kill)
    assert len(set(killed)) == 3
    np.testing.assert_array_equal(model.weights, alone.weights)


@contextmanager
def scheduler(port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A scheduler at a port, with two workers, as processes of their own."""
    program = [sys.executable, "-m", "distributed.cli.dask_"]
    begin, worker = [*program[:2], f"{program[2]}scheduler"], [*program[:2], f"{program[2]}worker"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    address = f"tcp://127.0.0.1:{port}"
    options = ["--host", "127.0.0.1", "--no-dashboard"]
    processes = [subprocess.Popen([*begin, "--port", str(port), *options], **quiet)]
    workers = [address, "--nworkers", "2", "--nthreads", "1", "--no-dashboard", "--memory-limit", "0"]
    processes.append(subprocess.Popen([*worker, *workers, "--death-timeout", "20"], **quiet))
    try:
        yield processes[0]
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(30)


def test_machines_that_the_client_reaches_through_the_scheduler_alone_and_functions_they_do_not_have(
    tmp_path: Path,
) -> None:
    text = TEXT.replace("clique y: bias", "clique y: bias, ending(word)")
    assert text != TEXT
    resolved, path, port = load_text(text), written(tmp_path), free_port()
    own = {"ending": feature(ending)}
    alone = fit(resolved, parted(path, resolved, tmp_path), registered=own)
    with scheduler(port), cluster_client(f"tcp://127.0.0.1:{port}", None, None) as client:
        assert not client.direct_to_workers
        parts = open_parts(path, resolved, cache=tmp_path / "other", part_tokens=50, cluster=client)
        model = fit(resolved, parts, registered=own)
    np.testing.assert_array_equal(model.weights, alone.weights)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_a_lost_scheduler_is_one_error_and_training_goes_on_later(tmp_path: Path) -> None:
    resolved, path, port = load_text(TEXT), written(tmp_path), free_port()
    parts, file = parted(path, resolved, tmp_path), tmp_path / "checkpoint"
    alone = fit(resolved, parts)
    with scheduler(port) as process, cluster_client(f"tcp://127.0.0.1:{port}", None, None) as client:

        def kill(step: Iteration) -> None:
            if step.iteration == 4:
                process.kill()
                process.wait()

        with pytest.raises(DcrfError) as lost:
            fit(resolved, replace(parts, cluster=client), on_iteration=kill, checkpoint=Checkpoint(file, seconds=0))
    (problem,) = lost.value.diagnostics
    assert problem.slug == "cluster-lost" and "--resume" in (problem.help or "")
    resumed = fit(resolved, parts, checkpoint=Checkpoint(file, resume=True))
    np.testing.assert_array_equal(resumed.weights, alone.weights)


def test_wrong_uses_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DcrfError) as silent, cluster_client(f"tcp://127.0.0.1:{free_port()}", None, None):
        pass
    assert silent.value.diagnostics[0].slug == "no-cluster"
    with pytest.raises(TypeError, match="Client"):
        part_runner("tcp://127.0.0.1:8786")
    resolved, path = load_text(REFUSED["adaboost"]), written(tmp_path)
    with cluster_client(None, 1, 1) as client:
        with pytest.raises(DcrfError, match="no sum over sentences"):
            fit(resolved, parted(path, resolved, tmp_path, cluster=client))
        wrong = load_text(f"{DATA_WITHOUT}train likelihood\n")
        with pytest.raises(DcrfError) as error:  # an error of a worker arrives as it was
            fit(wrong, parted(path, wrong, tmp_path, cluster=client))
        assert error.value.diagnostics[0].slug == "unknown-label"


def test_an_interrupt_of_all_processes_saves_what_there_is(tmp_path: Path) -> None:
    (tmp_path / "y.dcrf").write_text(TEXT.replace("max_iterations = 12", "max_iterations = 500, tolerance = 1e-12"))
    path = written(tmp_path)
    call = [sys.executable, "-c", "from dcrfdsl.cli import main; main()", "train", "y.dcrf", path.name]
    options = ["-o", "y.model", "--workers", "2", "--json"]
    with subprocess.Popen(
        [*call, *options], cwd=tmp_path, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if '"iteration": 3,' in line:
                os.killpg(process.pid, signal.SIGINT)
                break
        process.stdout.read()
    assert process.returncode == 0
    names = {one.name for one in tmp_path.glob("y.model*")}
    assert names == {"y.model", "y.model.checkpoint", "y.model.parts"}


DATA_WITHOUT = CHAIN.replace("label y in bio", "label y in {B-X, I-X, O}")


def test_workers_hand_a_sum_on_to_others(tmp_path: Path) -> None:
    """Five workers: two are asked, and both ask others."""
    with cluster_client(None, 5, 5) as client:
        shown = ClusterRunner(client).total(_shown, "p", 21, ".", _both)
        assert shown == InTurn(1).total(_shown, "p", 21, ".", _both)
        assert list(ClusterRunner(client).each(_named, "p", 12)) == [f"p{number}" for number in range(12)]


def _shown(shared: str, number: int, argument: str) -> str:
    return f"{shared}{number}{argument}"


def _named(shared: str, number: int) -> str:
    return f"{shared}{number}"


def _both(one: str, other: str) -> str:
    return f"({one}+{other})"


class _Fake:
    """The part of a client that homes are given by."""

    status = "running"

    def __init__(self) -> None:
        self.alive = ["a", "b"]

    def nthreads(self) -> dict[str, int]:
        return dict.fromkeys(self.alive, 1)


def test_parts_stay_with_their_worker_while_it_lives() -> None:
    client = _Fake()
    runner = ClusterRunner(client)

    def homes() -> dict[int, str]:
        runner._plan(8)
        return dict(runner._homes)

    first = homes()
    assert sorted(first.values()) == ["a"] * 4 + ["b"] * 4 and homes() == first
    client.alive = ["a", "c"]  # b has gone
    second = homes()
    assert all(second[n] == (home if home == "a" else "c") for n, home in first.items())
    client.alive = ["a", "c", "d"]
    third = homes()
    assert sorted(map(list(third.values()).count, "acd")) == [2, 3, 3]
    assert sum(third[n] != second[n] for n in range(8)) == 2
