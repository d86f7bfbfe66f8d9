"""Data larger than memory: CoNLL-2000 again and again with noise, trained in parts within a bound of memory.

    python tests/benchmarks/large.py 20000000 noisy.txt     writes such a corpus alone

The peak is that of the kernel's record of the training process. Not here: clusters, data in memory (`scaling`).
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["in_parts", "write_noisy"]

NOISE = 0.01  # of the words are replaced by new ones, such as names
ITERATIONS = 5
MEMORY = 2e9
TEMPLATE = """data conll(word, pos, chunk)
label chunk
features window:
    word[-2..2]
    word[-1] & word, word & word[1]
    pos[-2..2]
    pos[-2] & pos[-1], pos[-1] & pos, pos & pos[1], pos[1] & pos[2]
clique chunk as words: bias, window
clique chunk[-1], chunk as chain
infer exact
train likelihood:
    prior = gaussian(variance = 10)
    optimizer = lbfgs(max_iterations = {})
"""


def write_noisy(source: Path, target: Path, num_tokens: int, seed: int = 0) -> int:
    """Writes the sentences of `source` in random order, again and again, until there are `num_tokens` tokens.

    A share `NOISE` of the words becomes one of half a million invented ones. Returns the number of tokens.
    """
    draw = random.Random(seed)
    sentences = [block.splitlines() for block in source.read_text(encoding="utf-8").split("\n\n") if block.strip()]
    written = 0
    with open(target, "w", encoding="utf-8") as file:
        while written < num_tokens:
            draw.shuffle(sentences)
            for lines in sentences:
                for line in lines:
                    word, _, rest = line.partition(" ")
                    word = f"w{draw.randrange(500_000)}" if draw.random() < NOISE else word
                    file.write(f"{word} {rest}\n")
                file.write("\n")
                written += len(lines)
                if written >= num_tokens:
                    break
    return written


def in_parts() -> Iterator[object]:
    """20 million tokens in parts on 2 threads: the peak of memory, and the time of learning and of an iteration."""
    from figures import Figure, Skip, at_most
    from work import DATA_FOLDER, SMOKE

    source = DATA_FOLDER / "conll2000" / "train.txt"
    if not source.exists():
        raise Skip(f"{source} is not there")
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        place = Path(folder)
        count = write_noisy(source, place / "train.txt", 20_000 if SMOKE else 20_000_000)
        (place / "chunk.dcrf").write_text(TEMPLATE.format(ITERATIONS), encoding="utf-8")
        command = [
            sys.executable, "-m", "dcrfdsl", "train", "chunk.dcrf", "train.txt", "-o", "chunk.model", "--memory", "2GB",
            "--threads", "2", "--json", "--quiet",
        ]  # fmt: skip
        run = subprocess.run(command, cwd=place, capture_output=True, text=True, check=True)
        *steps, summary = map(json.loads, run.stdout.splitlines())
    what = f"{count:,} tokens"
    yield Figure(f"peak memory of {what}", summary["peak_mb"], "MB", "training in parts", at_most(MEMORY / 1e6))
    seconds = (steps[-1]["seconds"] - steps[0]["seconds"]) / max(1, len(steps) - 1)
    yield Figure(f"an iteration on {what}", seconds, "s", "training in parts", None)


if __name__ == "__main__":
    given = Path(os.environ.get("DCRFDSL_DATA", "data")) / "conll2000" / "train.txt"
    print(write_noisy(given, Path(sys.argv[2]), int(sys.argv[1])), "tokens")
