"""Runs commands and Python sessions in forks of one process, which has the package and the usual kernels loaded.

A short command takes most of its time for that, and a page has many of them. Each line of standard input is a request
in JSON, each line of standard output an answer:

    {"command": [word, …], "folder": F, "output": FILE}    the exit code; what it prints is in FILE
    {"session": [FIFO, FIFO], "folder": F, "output": FILE}  0; Python to run comes through the first FIFO, a JSON text
                                                            a line; what it prints goes through the second; errors
                                                            are in FILE
"""

from __future__ import annotations

import contextlib
import io
import json
import os
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

    sys.argv = words
    try:
        main()
    except SystemExit as leave:
        return leave.code if isinstance(leave.code, int) else int(leave.code is not None)
    return 0


def run_session(read: str, write: str) -> int:
    """Runs what comes, in one name space, until the other side closes."""
    names: dict[str, Any] = {"__name__": "__main__"}
    sys.path[0] = ""  # as in a session that one begins in that folder
    with open(read, encoding="utf-8") as questions, open(write, "w", encoding="utf-8") as answers:
        for line in questions:
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(json.loads(line), "<page>", "exec"), names)
            print(json.dumps(out.getvalue()), file=answers, flush=True)
    return 0


def run_request(request: dict[str, Any]) -> int:
    """Runs a request in a fork of this process, which does not return."""
    code = 70
    try:
        os.chdir(request["folder"])
        file = os.open(request["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(file, 1)
        os.dup2(file, 2)
        code = run_command(request["command"]) if "command" in request else run_session(*request["session"])
    except Exception:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def serve() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the warm-up prints
    warm_up()
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            run_request(request)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) if "command" in request else 0
        print(code, file=answers, flush=True)


if __name__ == "__main__":
    serve()
