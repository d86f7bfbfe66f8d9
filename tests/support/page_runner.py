"""Runs what a page of the documentation shows, in the order of the page, and compares what comes out with the page.

A page is Markdown. In a folder of its own, from top to bottom:

* a code block right below a line of bold code, such as **`ner.dcrf`**, is written to the file of that name;
* in a block `console`, each line after `$ ` is a command for bash, and the lines below it are all that it prints;
* a block `python` runs, with the names of the blocks above it; a block `text` right after it is all that it prints.

In what is shown, `…` within a line stands for any text, and a line that is `…` alone for any number of lines. Blocks of
other languages are for reading. Comments of the page say more: `<!-- in: examples/address -->` begins with a copy of
that folder, `<!-- requires: sklearn -->` and `<!-- programs: node -->` name modules and programs without which the page
is skipped, and `<!-- fails -->` before a block says that its last command ends with an error.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TextIO

from page_client import ask, exit_code

ANY = "…"
FENCE = re.compile(r"^(`{3,})(\S*)[^\n]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"(?:^|\n)\*\*`([^`\n]+)`\*\*$")
COMMENT = re.compile(r"<!-- *(\w+)(?:: *(.*?))? *-->")
SERVER, CLIENT = (Path(__file__).with_name(f"page_{side}.py") for side in ("server", "client"))
PLAIN = re.compile(r"dcrfdsl [\w\s./=,:+\-\"'()\[\]]*")  # a command that needs no shell


@dataclass(frozen=True)
class Step:
    """A block that is written or run.   kind: `file`, `console` or `python`; name: of the file; line: in the page."""

    kind: str
    text: str
    line: int
    name: str = ""
    shown: str | None = None
    fails: bool = False


def comment_of(page: str, key: str) -> str | None:
    """The value of the comment `<!-- key: value -->`; empty if it has none, None if there is no such comment."""
    return next((value or "" for name, value in COMMENT.findall(page) if name == key), None)


def steps_of(page: str) -> list[Step]:
    """The steps of a page, in order."""
    steps: list[Step] = []
    end = 0
    for fence in FENCE.finditer(page):
        _, language, body = fence.groups()
        between, end = page[end : fence.start()].strip(), fence.end()
        line = page.count("\n", 0, fence.start()) + 1
        fails = comment_of(between.rpartition("\n")[2], "fails") is not None
        if name := NAME.search(between):
            steps.append(Step("file", body, line, name=name[1]))
        elif language in ("console", "python"):
            steps.append(Step(language, body, line, fails=fails))
        elif language == "text" and not between and steps and steps[-1].kind == "python" and steps[-1].shown is None:
            steps[-1] = Step("python", steps[-1].text, steps[-1].line, shown=body)
    return steps


def matches(shown: str, printed: str) -> bool:
    """Whether a page's `shown` fits what was `printed`, but for white space at the ends of lines."""
    pattern = ""
    for line in shown.rstrip().splitlines():
        if line.strip() == ANY:
            pattern += r"(?:.*\n)*?"
        else:
            pattern += "[^\n]*?".join(map(re.escape, line.rstrip().split(ANY))) + r"\n"
    lines = "".join(line.rstrip() + "\n" for line in printed.rstrip().splitlines())
    return re.fullmatch(pattern, lines) is not None


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block with what is shown below it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        lines = part.splitlines()
        length = 1 + next((n for n, line in enumerate(lines) if not line.endswith("\\")), 0)
        yield "\n".join(lines[:length]), "\n".join(lines[length:])


def run_page(path: Path, root: Path, folder: Path) -> None:
    """Runs the page `path` of the project `root` in `folder`; AssertionError where it shows something else."""
    page = path.read_text(encoding="utf-8")
    if source := comment_of(page, "in"):
        shutil.copytree(root / source, folder, dirs_exist_ok=True)
    place = _Place(folder, _environment(root), _server(root))
    with ExitStack() as ends:
        session: _Session | None = None
        for step in steps_of(page):
            where = f"{path.name}:{step.line}"
            if step.kind == "file":
                (folder / step.name).parent.mkdir(parents=True, exist_ok=True)
                (folder / step.name).write_text(step.text, encoding="utf-8")
            elif step.kind == "console":
                _run_console(step, place, where)
            else:
                session = session or ends.enter_context(_session(place))
                _run_python(step, session, where)


def _environment(root: Path) -> dict[str, str]:
    return os.environ | {"COLUMNS": "80", "NO_COLOR": "1", "PYTHONPATH": str(root), "DCRFDSL_THREADS": "2"}


@functools.cache
def _server(root: Path) -> str:
    """The socket of a running `page_server`; it ends with this process."""
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "socket")
    server = subprocess.Popen(
        [sys.executable, str(SERVER), path], env=_environment(root), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )

    def end() -> None:
        server.communicate()
        shutil.rmtree(folder)

    atexit.register(end)
    while not os.path.exists(path):
        assert server.poll() is None, "the server of pages does not start"
        time.sleep(0.01)
    return path


@dataclass(frozen=True)
class _Place:
    """Where the steps of a page run: in `folder`, with `environment`, by the server at `socket`."""

    folder: Path
    environment: dict[str, str]
    socket: str

    def ask(self, streams: tuple[int, int, int], **what: object) -> socket.socket:
        return ask(self.socket, {**what, "folder": str(self.folder), "environment": self.environment}, streams)


@dataclass(frozen=True)
class _Session:
    """A Python session: what it is to run, what it prints, and the file of its errors."""

    questions: TextIO
    answers: TextIO
    errors: IO[bytes]


@contextmanager
def _session(place: _Place) -> Iterator[_Session]:
    (asked, ask_end), (answer_end, answered) = os.pipe(), os.pipe()
    with tempfile.TemporaryFile() as errors:
        connection = place.ask((asked, answered, errors.fileno()), session=True)
        os.close(asked), os.close(answered)
        with (
            connection,
            open(answer_end, encoding="utf-8") as answers,
            open(ask_end, "w", encoding="utf-8") as questions,
        ):
            yield _Session(questions, answers, errors)


def _run_console(step: Step, place: _Place, where: str) -> None:
    every = list(commands(step.text))
    for n, (command, shown) in enumerate(every, 1):
        code, printed = _run_command(command, place)
        wrong = step.fails and n == len(every)
        assert bool(code) == wrong, f"{where}: `{command}` ends with {code}:\n{printed}"
        assert matches(shown, printed), f"{where}: `{command}` prints\n{printed}\nthe page shows\n{shown}"


def _run_command(command: str, place: _Place) -> tuple[int, str]:
    """Exit code, and stdout and stderr together."""
    plain = command.replace("\\\n", " ")
    if PLAIN.fullmatch(plain):
        with tempfile.TemporaryFile() as output, open(os.devnull) as nothing:
            streams = (nothing.fileno(), output.fileno(), output.fileno())
            code = exit_code(place.ask(streams, command=shlex.split(plain)[1:]))
            output.seek(0)
            return code, output.read().decode()
    python = shlex.quote(sys.executable)
    define = f'dcrfdsl() {{ {python} -ES {shlex.quote(str(CLIENT))} {shlex.quote(place.socket)} "$@"; }}; '
    run = subprocess.run(
        ["bash", "-c", f'{define} python() {{ {python} "$@"; }}; {command}'], cwd=place.folder,
        env=place.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return run.returncode, run.stdout


def _run_python(step: Step, session: _Session, where: str) -> None:
    session.questions.write(json.dumps(step.text) + "\n")
    session.questions.flush()
    answer = session.answers.readline()
    if not answer:
        session.errors.seek(0)
        raise AssertionError(f"{where} fails:\n{session.errors.read().decode()}")
    printed = json.loads(answer)
    if step.shown is not None:
        assert matches(step.shown, printed), f"{where} prints\n{printed}\nthe page shows\n{step.shown}"
