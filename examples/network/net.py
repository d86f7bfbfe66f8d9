"""A BiLSTM over words, their ends and their looks, which scores every state of two labels; and the sentences it reads.

Not here: what is made of the scores (`heads`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

LABELS = ("pos", "chunk")
UNKNOWN = -1  # the code of labels in the padding
WORD, END, HIDDEN, DROPPED = 64, 32, 64, 0.3
END_LETTERS = 3


class Sentence(NamedTuple):
    words: tuple[str, ...]
    pos: tuple[str, ...]
    chunk: tuple[str, ...]


class Batch(NamedTuple):
    """lengths: [B].   tags: the codes of each label [B, T], -1 in the padding."""

    words: list[tuple[str, ...]]
    lengths: Tensor
    tags: dict[str, Tensor]

    @property
    def kept(self) -> Tensor:
        """Which positions there are, [B, T]."""
        return torch.arange(int(self.lengths.max()))[None, :] < self.lengths[:, None]


def read(path: Path, most: int | None = None) -> list[Sentence]:
    """The first `most` sentences of lines `word pos chunk`. ValueError for other lines."""
    found: list[Sentence] = []
    rows: list[list[str]] = []
    for number, line in enumerate([*path.read_text(encoding="utf-8").split("\n"), ""], 1):
        cells = line.split()
        if cells and len(cells) != 3:
            raise ValueError(f"{path}:{number}: expected `word pos chunk`, found {line!r}")
        if cells:
            rows.append(cells)
        elif rows:
            found.append(Sentence(*zip(*rows, strict=True)))
            rows = []
        if len(found) == most:
            break
    return found


def batch_of(sentences: Sequence[Sentence], states: Mapping[str, Sequence[str]]) -> Batch:
    """Sentences with their labels as codes, indices into `states`. ValueError for a label that is no state."""
    tags = {}
    for label in LABELS:
        numbers = {state: number for number, state in enumerate(states[label])}
        strange = {tag for one in sentences for tag in getattr(one, label)} - numbers.keys()
        if strange:
            raise ValueError(f"the template has no state {min(strange)!r} of `{label}`")
        codes = [torch.tensor([numbers[tag] for tag in getattr(one, label)]) for one in sentences]
        tags[label] = pad_sequence(codes, True, UNKNOWN)
    words = [one.words for one in sentences]
    return Batch(words, torch.tensor([len(one) for one in words]), tags)


def _often(texts: Iterable[str]) -> dict[str, int]:
    """A number for each text that occurs twice; 0 is the padding and 1 any other text."""
    return {text: number for number, text in enumerate(sorted(t for t, n in Counter(texts).items() if n > 1), 2)}


def _looks(word: str) -> list[float]:
    return [word.islower(), word[:1].isupper(), word.isupper(), word.isalpha(), any(map(str.isdigit, word))]


class Net(nn.Module):
    """Scores of `sizes[label]` states at each token, for each label: [B, T, K] each."""

    def __init__(self, sentences: Iterable[Sentence], sizes: Mapping[str, int]):
        super().__init__()
        words = [word.lower() for one in sentences for word in one.words]
        self.words, self.ends = _often(words), _often(word[-END_LETTERS:] for word in words)
        self.embed_words = nn.Embedding(len(self.words) + 2, WORD, padding_idx=0)
        self.embed_ends = nn.Embedding(len(self.ends) + 2, END, padding_idx=0)
        self.drop = nn.Dropout(DROPPED)
        self.lstm = nn.LSTM(WORD + END + len(_looks("")), HIDDEN, batch_first=True, bidirectional=True)
        self.out = nn.ModuleDict({label: nn.Linear(2 * HIDDEN, size) for label, size in sizes.items()})

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        words = [torch.tensor([self.words.get(word.lower(), 1) for word in one]) for one in batch.words]
        ends = [torch.tensor([self.ends.get(word.lower()[-END_LETTERS:], 1) for word in one]) for one in batch.words]
        looks = [torch.tensor([_looks(word) for word in one], dtype=torch.float32) for one in batch.words]
        parts = [self.embed_words(pad_sequence(words, True)), self.embed_ends(pad_sequence(ends, True))]
        packed = nn.utils.rnn.pack_padded_sequence(
            self.drop(torch.cat([*parts, pad_sequence(looks, True)], dim=-1)),
            batch.lengths, batch_first=True, enforce_sorted=False,
        )  # fmt: skip
        hidden, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        hidden = self.drop(hidden)
        return {label: out(hidden) for label, out in self.out.items()}
