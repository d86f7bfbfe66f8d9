"""Runs commands and Python sessions in forks of one process, which has the package and the usual kernels loaded.

A short command takes most of its time for that, and a page has many of them. A request is one connection to the socket
whose path is the argument: three streams, sent as file descriptors, and a text in JSON:

    {"command": [word, …], "folder": F, "environment": E}  `dcrfdsl` with these words; the streams are its standard
                                                           input, output and errors; the answer is its exit code
    {"session": true, "folder": F, "environment": E}       Python to run comes through the first stream, a JSON text a
                                                           line; what it prints goes through the second; errors go to
                                                           the third

The server ends with its own standard input. `page_client` is what a shell calls.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import selectors
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import Any

TEMPLATE = "data conll(word, tag)\nlabel tag\nclique tag: word\nclique tag[-1], tag\ninfer exact\n"
DATA = "the D\ndog N\n\na D\ncat N\n\n"


def warm_up() -> None:
    """Trains, evaluates and tags with one thread: a fork has no threads but its own."""
    from dcrfdsl import TrainedModel, fit, read_corpus  # noqa: F401
    from dcrfdsl.cli import run

    threads = os.environ.pop("DCRFDSL_THREADS", None)
    os.environ["DCRFDSL_THREADS"] = "1"
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("tag.dcrf").write_text(TEMPLATE)
        Path("data").write_text(DATA)
        for line in ("train tag.dcrf data -o a.model -q", "eval a.model data -q", "tag a.model data -q"):
            run(line.split())
        os.chdir(before)
    del os.environ["DCRFDSL_THREADS"]
    if threads is not None:
        os.environ["DCRFDSL_THREADS"] = threads


def run_command(words: list[str]) -> int:
    """The exit code of `dcrfdsl …`."""
    from dcrfdsl.cli import main

    sys.argv = ["dcrfdsl", *words]
    try:
        main()
    except SystemExit as leave:
        return leave.code if isinstance(leave.code, int) else int(leave.code is not None)
    return 0


def run_session() -> None:
    """Runs what comes, in one name space, until the other side closes."""
    names: dict[str, Any] = {"__name__": "__main__"}
    sys.path[0] = ""  # as in a session that one begins in that folder
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    for line in os.fdopen(os.dup(0), encoding="utf-8"):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(json.loads(line), "<page>", "exec"), names)
        print(json.dumps(out.getvalue()), file=answers, flush=True)


def answer(connection: socket.socket) -> None:
    """Runs a request in a fork of the server, which does not return."""
    code = 70
    try:
        parts, streams = [], []
        while not parts or parts[-1]:  # until the client has said all
            text, found, _, _ = socket.recv_fds(connection, 1 << 16, 3)
            parts.append(text)
            streams += found
        request = json.loads(b"".join(parts))
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(request["folder"])
        os.environ.clear()
        os.environ.update(request["environment"])
        if "command" in request:
            code = run_command(request["command"])
        else:
            run_session()
            code = 0
    except Exception:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        with contextlib.suppress(OSError):
            connection.sendall(str(code).encode())
        os._exit(code)


def serve(path: str) -> None:
    warm_up()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the forks
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path + ".new")
    listener.listen(64)
    os.rename(path + ".new", path)  # whoever finds it can connect
    both = selectors.DefaultSelector()
    both.register(listener, selectors.EVENT_READ)
    both.register(0, selectors.EVENT_READ)
    while all(key.fileobj is listener for key, _ in both.select()):
        connection, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            answer(connection)
        connection.close()


if __name__ == "__main__":
    serve(sys.argv[1])
