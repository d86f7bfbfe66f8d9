"""`dcrfdsl tag` as a co-process: a sentence that has ended is answered before anything else is asked.

The writer sends one sentence, keeps the pipe open, and waits for the answer, in every format of input and of output.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dcrfdsl.data import read_corpus
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit

WAIT = 120.0  # seconds for an answer: the first one may have to compile
WORDS = (("the", "dog"), ("a", "cat", "sleeps"), ("dogs",), ("the", "cat"))
TAGS = {"the": "D", "a": "D", "dog": "N", "cat": "N", "dogs": "N", "sleeps": "V"}
DATA = {
    "conll": "data conll(word, tag)",
    "conllu": "data conllu(word = form, tag = upos)",
    "jsonl": "data jsonl(word, tag)",
}
REST = "label tag\nclique tag: word\nclique tag[-1], tag\ninfer exact\n"


def written(form: str, words: tuple[str, ...], *, tagged: bool) -> str:
    """A sentence and what ends it."""
    if form == "jsonl":
        own = {"word": list(words)} | ({"tag": [TAGS[word] for word in words]} if tagged else {})
        return json.dumps(own) + "\n"
    if form == "conllu":
        rows = [f"{n}\t{word}\t_\t{TAGS[word] if tagged else '_'}" + "\t_" * 6 for n, word in enumerate(words, 1)]
    else:
        rows = [f"{word} {TAGS[word]}" if tagged else word for word in words]
    return "".join(row + "\n" for row in rows) + "\n"


@pytest.fixture(scope="module", params=list(DATA))
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    form, place = request.param, tmp_path_factory.mktemp(request.param)
    (place / "train").write_text("".join(written(form, words, tagged=True) for words in WORDS))
    resolved = load_text(f"{DATA[form]}\n{REST}")
    spec = resolved.require()
    assert spec.data is not None
    trained = fit(resolved, read_corpus(place / "train", spec.data), threads=1)
    trained.save(place / "model")
    return form, place / "model"


class Coprocess:
    """A running command, written to and read from with a limit of time."""

    def __init__(self, *arguments: str | Path):
        command = [sys.executable, "-c", "from dcrfdsl.cli import main; main()", *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # which shells' background jobs ignore
        )  # fmt: skip
        assert self.process.stdin and self.process.stdout
        self.stdin, self.stdout = self.process.stdin, self.process.stdout

    def ask(self, text: str, ends: bytes, count: int = 1) -> str:
        """What comes back up to the `count`-th `ends`."""
        self.stdin.write(text.encode())
        found, until = b"", time.monotonic() + WAIT
        while found.count(ends) < count:
            ready, _, _ = select.select([self.stdout], [], [], max(0.0, until - time.monotonic()))
            assert ready, f"no answer to {text!r}, only {found!r}"
            more = os.read(self.stdout.fileno(), 1 << 16)
            assert more, self.process.stderr.read().decode() if self.process.stderr else ""
            found += more
        return found.decode()

    def close(self) -> None:
        rest, error = self.process.communicate(timeout=WAIT)
        assert (rest, self.process.returncode) == (b"", 0), error.decode()


ANSWERS = [  # a format, options; a format has its own writer of plain answers, and all have that of JSON
    *((form, options) for form in DATA for options in ("--threads 1", "--threads 2 --marginals", "--nbest 2")),
    ("conllu", "--json"),
    ("conll", "--json --nbest 2 --marginals"),
    ("jsonl", "--json --nbest 2 --marginals"),
]


@pytest.mark.long
@pytest.mark.parametrize(("model", "options"), ANSWERS, indirect=["model"])
def test_every_sentence_is_answered_at_its_end(model: tuple[str, Path], options: str) -> None:
    form, path = model
    running = Coprocess("tag", path, "-q", *options.split())
    ends, count = b"\n" if form == "jsonl" or "--json" in options else b"\n\n", 2 if "--nbest" in options else 1
    for words in WORDS:
        answer = running.ask(written(form, words, tagged=False), ends, count)
        for word in words:
            assert (TAGS[word] if "--json" in options else word) in answer
    running.close()


@pytest.mark.long
def test_what_is_sent_in_pieces_is_put_together(model: tuple[str, Path]) -> None:
    """Byte by byte, a byte order mark first; the answers are those to the whole."""
    form, path = model
    running = Coprocess("tag", path, "-q")
    text = "".join(written(form, words, tagged=False) for words in WORDS)
    sent = b"\xef\xbb\xbf" + text.encode()
    for at in range(len(sent)):
        running.stdin.write(sent[at : at + 1])
        if at % 7 == 0:
            time.sleep(0.001)
    found, error = running.process.communicate(timeout=WAIT)
    whole = subprocess.run(running.process.args, input=sent, capture_output=True, check=True)
    assert found == whole.stdout, error.decode()


@pytest.mark.long
def test_without_flush_an_answer_waits(model: tuple[str, Path]) -> None:
    form, path = model
    running = Coprocess("tag", path, "-q", "--no-flush")
    running.stdin.write(written(form, WORDS[0], tagged=False).encode())
    ready, _, _ = select.select([running.stdout], [], [], 5.0)
    assert not ready
    found, _ = running.process.communicate(timeout=WAIT)
    assert b"dog" in found


@pytest.mark.long
def test_a_signal_ends_what_waits_for_text(model: tuple[str, Path]) -> None:
    """The thread that waits for input holds nothing that the end of the process needs."""
    form, path = model
    running = Coprocess("tag", path, "-q", "--threads", "2")
    running.ask(written(form, WORDS[0], tagged=False), b"\n" if form == "jsonl" else b"\n\n")
    time.sleep(0.2)  # it waits for more text
    running.process.send_signal(signal.SIGINT)
    running.process.wait(WAIT)  # its input stays open
    rest, error = running.process.communicate()
    assert (rest, running.process.returncode) == (b"", 130)
    assert error.decode().strip() == "interrupted"
