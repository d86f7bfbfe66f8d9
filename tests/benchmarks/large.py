"""Data larger than memory: CoNLL-2000 again and again with noise, trained in parts within a bound of memory.

The peak is that of the kernel's record of the training process. Not here: clusters, data in memory (`scaling`).
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

from figures import Figure, at_most
from work import SMOKE, command, conll2000, work_folder

NOISE = 0.01  # of the words are replaced by new ones, such as names
ITERATIONS = 5
MEMORY = 2000  # MB
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


def write_noisy(text: str, target: Path, num_tokens: int, seed: int = 0) -> int:
    """Writes the sentences of `text` in random order, again and again, until there are `num_tokens` tokens.

    A share `NOISE` of the words becomes one of half a million invented ones. Returns the number of tokens.
    """
    draw = random.Random(seed)
    sentences = [block.splitlines() for block in text.split("\n\n") if block.strip()]
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


def in_parts() -> Iterator[Figure]:
    """20 million tokens in parts on 2 threads: the peak of memory, and the time of an iteration."""
    conll2000()  # or Skip
    place = work_folder() / "large"
    place.mkdir(exist_ok=True)
    count = write_noisy(conll2000(), place / "train.txt", 20_000 if SMOKE else 20_000_000)
    (place / "chunk.dcrf").write_text(TEMPLATE.format(ITERATIONS), encoding="utf-8")
    shown = command(
        [
            "train", place / "chunk.dcrf", place / "train.txt", "-o", place / "chunk.model", "--memory", "2GB",
            "--threads", "2", "--json", "--quiet",
        ]
    )  # fmt: skip
    *steps, summary = map(json.loads, shown.splitlines())
    what = f"{count:,} tokens"
    yield Figure(f"peak memory of {what}", summary["peak_mb"], "MB", "training in parts", at_most(MEMORY))
    seconds = (steps[-1]["seconds"] - steps[0]["seconds"]) / max(1, len(steps) - 1)
    yield Figure(f"an iteration on {what}", seconds, "s", "training in parts")
