"""Text of any length through a pipe: tokens a second, and whether the memory of `tag` and `eval` stays flat.

The text is CoNLL-2000 again and again, with new words at random places, as real text has them. Memory is sampled all
the time; the first tenth of the text is the warm-up.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from commands import chunker
from figures import Figure, at_most
from work import CHUNKING, ROOT, SMOKE, conll2000, resolved_of, work_folder

from dcrfdsl.cli.command_files import data_statement
from dcrfdsl.data import read_corpus
from dcrfdsl.model.trained_model import TrainedModel

TOKENS = 2_000_000 if SMOKE else 10_000_000
COMPARED = 1 if SMOKE else 4  # repetitions whose output is compared with that of the whole in memory
NEW_WORDS = 0.02  # of the tokens
PAUSE = 0.05  # seconds between two samples of memory
WARM_UP = 0.1  # of the text


class Run(NamedTuple):
    """tokens, seconds: of a stream.   warmed, sent: the seconds at which a tenth and all of it was sent.   samples:
    (seconds, memory in MB).
    """

    tokens: int
    seconds: float
    warmed: float
    sent: float
    samples: Sequence[tuple[float, float]]

    @property
    def warm(self) -> list[float]:
        """The memory after the warm-up, until the whole text was sent and the process began to end."""
        return [size for at, size in self._warm_samples]

    @property
    def _warm_samples(self) -> list[tuple[float, float]]:
        found = [(at, size) for at, size in self.samples if self.warmed < at < self.sent]
        return found or list(self.samples)  # a short round may end before the first one

    @property
    def peaks(self) -> list[float]:
        """The most memory in each whole second of it: within one, it falls and rises with the parts of the text."""
        by_second: dict[int, float] = {}
        for at, size in self._warm_samples:
            by_second[int(at)] = max(size, by_second.get(int(at), 0.0))
        peaks = list(by_second.values())
        return peaks[1:-1] or peaks  # the first and last second are cut

    @property
    def spread(self) -> float:
        """How far a second's peak was from the median of them at most, in percent."""
        middle = float(np.median(self.peaks))
        return 100.0 * max(max(self.peaks) - middle, middle - min(self.peaks)) / middle


def noisy(seed: int) -> Iterator[tuple[bytes, int]]:
    """Text without end, a repetition of the corpus at a time, and its tokens."""
    lines = conll2000().rstrip("\n").split("\n")
    tokens = np.array([at for at, line in enumerate(lines) if line])
    draw, new = np.random.default_rng(seed), 0
    while True:
        text = list(lines)
        for at in draw.choice(tokens, int(NEW_WORDS * len(tokens)), replace=False).tolist():
            new += 1
            text[at] = f"word{new} {lines[at].partition(' ')[2]}"
        yield ("\n".join(text) + "\n\n").encode(), len(tokens)


def streaming() -> Iterator[Figure]:
    """`tag` and `eval` of 10⁷ tokens through a pipe: the speed, how flat the memory is, the same output."""
    model, out = chunker(), work_folder() / "stream.txt"
    loaded, parts = TrainedModel.load(model), noisy(0)
    part = work_folder() / "part.txt"
    part.write_bytes(b"".join(next(parts)[0] for _ in range(COMPARED)))
    corpus = read_corpus(part, data_statement(resolved_of(CHUNKING).require()))

    run = _through_a_pipe(["tag", str(model), "-", "--no-flush"], TOKENS, out)
    predicted = loaded.predict(corpus).texts("chunk")
    with open(out, encoding="utf-8") as stream:
        tagged = [line.rsplit(" ", 1)[1] for line, _ in zip(_filled(stream), predicted, strict=False)]
    if tagged != predicted:
        raise RuntimeError("a stream is tagged unlike the same text in memory")
    yield _speed("tag of a pipe", run)
    yield _flatness("memory of `tag`", run)

    run = _through_a_pipe(["eval", str(model), "-", "--json"], TOKENS, out)
    yield _speed("eval of a pipe", run)
    yield _flatness("memory of `eval`", run)
    _through_a_pipe(["eval", str(model), "-", "--json"], corpus.num_tokens, out)
    if json.loads(out.read_text()) != loaded.evaluate(corpus):
        raise RuntimeError("a stream has other scores than the same text in memory")


def _filled(stream: Iterator[str]) -> Iterator[str]:
    return (line.rstrip("\n") for line in stream if line != "\n")


def _speed(name: str, run: Run) -> Figure:
    work = f"{run.tokens:,} tokens in {run.seconds:.0f} s, the program that writes the text beside it"
    return Figure(name, run.tokens / run.seconds, "tokens/s", work)


def _flatness(name: str, run: Run) -> Figure:
    peaks, tenth = run.peaks, max(1, len(run.peaks) // 10)
    first, last = (float(np.median(part)) for part in (peaks[:tenth], peaks[-tenth:]))
    work = (
        f"largest distance of a second's peak from their median of {np.median(peaks):.0f} MB; median of the first "
        f"tenth {first:.0f} MB, of the last {last:.0f} MB; all {len(run.warm)} samples: {min(run.warm):.0f} to "
        f"{max(run.warm):.0f} MB"
    )
    return Figure(name, run.spread, "%", work, None if SMOKE else at_most(5))


def _through_a_pipe(arguments: Sequence[str], tokens: int, out: Path) -> Run:
    """Sends at least so many tokens to a command; the output goes to a file."""
    line = [sys.executable, "-c", "from dcrfdsl.cli import main; main()", *arguments, "--quiet"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    sent, marks, samples = 0, dict[float, float](), list[tuple[float, float]]()

    def feed(stream: BinaryIO) -> None:
        nonlocal sent
        with stream:
            for text, count in noisy(0):
                stream.write(text)
                sent += count
                for share in (WARM_UP, 1.0):
                    if sent >= share * tokens:
                        marks.setdefault(share, time.perf_counter() - begun)
                if sent >= tokens:
                    return

    with open(out, "wb") as file:
        begun = time.perf_counter()
        running = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=file, env=environment)
        assert running.stdin is not None
        feeder = threading.Thread(target=feed, args=(running.stdin,))
        feeder.start()
        while running.poll() is None:
            samples.append((time.perf_counter() - begun, _memory_mb(running.pid)))
            time.sleep(PAUSE)
        seconds = time.perf_counter() - begun
        feeder.join()
    if running.returncode:
        raise RuntimeError(f"`dcrfdsl {' '.join(arguments)}` failed")
    return Run(sent, seconds, marks[WARM_UP], marks[1.0], samples)


def _memory_mb(process: int) -> float:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
