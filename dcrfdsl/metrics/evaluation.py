"""Gold and predicted labels of some sentences as codes, and which of them are right, scored, unknown or ambiguous.

A code is an index into the list of state texts. A gold code may also be `UNSEEN` or `MISSING`, name a set of codes
(`AMBIGUOUS` - its number), or point behind the model's `known` states, at texts that occur only in the gold. A value
that the model does not know counts as wrong; a missing value is not scored; an ambiguous value is right if the
prediction is one of its states. Latent variables and memories are not scored. Not here:
the metrics (`metric_table`), decoding, printing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from typing import NamedTuple

import numpy as np

from ..data import Corpus, InternedColumn, label_cells, refuse_mixed, telling_tokens, value_of_sentence
from ..foundation import Integers, Ints, Mask, Offsets, dataclass
from ..syntax import Label
from .segment_scores import AMBIGUOUS, MISSING, UNSEEN
from .tallies import ExactSum


class Seen(NamedTuple):
    """The texts of a view, and which of them each text of its label is seen as, [K]."""

    states: Sequence[str]
    of: Ints


class View(NamedTuple):
    """A view of a label: `of` maps texts of the label, known to the model or not, to those of the view."""

    label: str
    of: Callable[[Sequence[str]], Seen]


@dataclass(frozen=True)
class Evaluation:
    """Gold and predicted codes [N] of every scored label, and further inputs of some metrics.

    `states[y]` are the texts of y's codes; the model knows the first `known[y]` of them (all, if y is not a key).
    `sets[y]` are the sets of codes that ambiguous gold values of y allow (none, if y is not a key).
    `views` are the views that a metric may name, and `seen_as` looks through one. Labels in `of_sentence` are scored
    once a sentence, at its first token; `at_every_token` looks at them elsewhere too. `told_at[y]` [N] are the tokens
    whose cells say the gold values of such a label (their own, if y is not a key). `soft[y]` tokens have a distribution
    in the gold, of which the likeliest state counts.
    `oov(column)` [N] marks the tokens whose value did not occur in training. It, `log_likelihood` (nats) and
    `rank_risk` (the sum over sentences, their number, and for how many it is a lower bound) are called only if a metric
    needs them.
    """

    gold: Mapping[str, Integers]
    predicted: Mapping[str, Integers]
    states: Mapping[str, Sequence[str]]
    sentence_off: Offsets
    known: Mapping[str, int] = field(default_factory=dict)
    oov: Callable[[str], Mask] | None = None
    log_likelihood: Callable[[], float | ExactSum] | None = None
    rank_risk: Callable[[], tuple[float | ExactSum, int, int]] | None = None
    sets: Mapping[str, Sequence[Sequence[int]]] = field(default_factory=dict)
    views: Mapping[str, View] = field(default_factory=dict)
    of_sentence: Collection[str] = ()
    told_at: Mapping[str, Ints] = field(default_factory=dict)
    soft: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.of_sentence:
            later = np.ones(self.num_tokens, np.bool_)
            later[np.asarray(self.sentence_off)[:-1][np.diff(self.sentence_off) > 0]] = False
            gold = {name: np.where(later, MISSING, self.gold[name]) for name in self.of_sentence}
            object.__setattr__(self, "gold", {**self.gold, **gold})

    def at_every_token(self) -> Evaluation:
        """The same with the labels of sentences at all of their tokens."""
        off = np.asarray(self.sentence_off, np.int64)
        first = np.repeat(off[:-1], np.diff(off))
        gold = {name: np.asarray(self.gold[name])[first] for name in self.of_sentence}
        return replace(self, gold={**self.gold, **gold}, of_sentence=())

    @property
    def num_tokens(self) -> int:
        return int(self.sentence_off[-1])

    def seen_as(self, view: str) -> Evaluation:
        """Gold and predicted labels seen through a view, as if the view were the label.

        A gold value that the model does not know can be right here: the view of it may be known.
        """
        label = self.views[view].label
        states, of = self.views[view].of(self.states[label])
        sets: list[tuple[int, ...]] = []
        of_set = []
        for codes in self.sets.get(label, ()):
            seen = tuple(sorted({int(of[code]) for code in codes}))
            of_set.append(seen[0] if len(seen) == 1 else AMBIGUOUS - len(sets))
            sets += [seen] if len(seen) > 1 else []

        def mapped(codes: Integers) -> Ints:
            out: Ints = np.array(codes, np.int64)
            several = out <= AMBIGUOUS
            out[out >= 0] = of[out[out >= 0]]
            out[several] = np.array([*of_set, 0], np.int64)[AMBIGUOUS - np.asarray(codes, np.int64)[several]]
            return out

        return replace(
            self,
            gold={view: mapped(self.gold[label])},
            predicted={view: mapped(self.predicted[label])} if label in self.predicted else {},
            states={view: states},
            known={view: len(np.unique(of[: len(self.known_states(label))]))},
            sets={view: sets},
            views={},
            of_sentence=(),
            told_at={},
        )

    def of(self, names: Sequence[str]) -> Evaluation:
        """What a metric of these labels and views looks at: one view alone, or several beside all labels."""
        if len(names) <= 1:
            return self.seen_as(names[0]) if names and names[0] in self.views else self
        out = self.at_every_token()
        for one in [out.seen_as(name) for name in names if name in self.views]:
            out = replace(
                out,
                gold={**out.gold, **one.gold},
                predicted={**out.predicted, **one.predicted},
                states={**out.states, **one.states},
                known={**out.known, **one.known},
                sets={**out.sets, **one.sets},
            )
        return out

    def known_states(self, label: str) -> Sequence[str]:
        return self.states[label][: self.known.get(label)]

    @property
    def known_texts(self) -> dict[str, Sequence[str]]:
        """The states of every label that the model knows."""
        return {label: self.known_states(label) for label in self.gold}

    def gold_text(self, corpus: Corpus, label: str, token: int) -> str:
        """What the data say that the label of a token is."""
        return corpus.text_column(label).text(int(self.told_at[label][token]) if label in self.told_at else token)

    def scored(self, label: str) -> Mask:
        """[N] whether the gold value is known."""
        mask: Mask = np.asarray(self.gold[label]) != MISSING
        return mask

    def unseen(self, label: str) -> Mask:
        """[N] whether the model does not know the gold value."""
        gold = np.asarray(self.gold[label])
        mask: Mask = (gold == UNSEEN) | (gold >= len(self.known_states(label)))
        several, allowed = self._allowed(label)
        mask[several] = ~allowed.any(axis=1)
        return mask

    def right(self, label: str) -> Mask:
        """[N] whether the prediction is the gold value, or one of the states of an ambiguous gold value."""
        predicted = np.asarray(self.predicted[label], np.int64)
        mask: Mask = (np.asarray(self.gold[label]) == predicted) & ~self.unseen(label)
        several, allowed = self._allowed(label)
        mask[several] = allowed[np.arange(len(several)), predicted[several]] & (predicted[several] >= 0)
        return mask

    def ambiguous(self, label: str) -> Ints:
        """Tokens with an ambiguous gold value."""
        return np.flatnonzero(np.asarray(self.gold[label]) <= AMBIGUOUS)

    def _allowed(self, label: str) -> tuple[Ints, Mask]:
        """Tokens with an ambiguous gold value, [A], and the model's states that each allows, [A, K]."""
        several, num_states = self.ambiguous(label), len(self.known_states(label))
        sets = self.sets.get(label, ())
        table = np.zeros((len(sets), num_states), np.bool_)
        for k, codes in enumerate(sets):
            table[k, [code for code in codes if code < num_states]] = True
        return several, table[AMBIGUOUS - np.asarray(self.gold[label], np.int64)[several]]


class Gold(NamedTuple):
    """Gold labels as codes, [N]; `states` are those of the model, then the texts that occur only in the gold.

    `sets` are the codes that ambiguous values allow: at least two, and not all of the model's states. `told_at` [N] are
    the tokens whose cells say it, for a label of the sentence. `soft` tokens have a distribution.
    """

    codes: Ints
    states: tuple[str, ...]
    sets: tuple[tuple[int, ...], ...]
    told_at: Ints | None = None
    soft: int = 0


def encode_gold(label: Label, states: Sequence[str], corpus: Corpus) -> Gold:
    """The gold values of `label` as codes of the model's `states`; other texts get the codes after them.

    A distribution counts as its likeliest state. `others` of the label takes values that are not states. A set of all
    states of the model counts as missing. Raises DcrfError if the column is absent or a set has an empty member.
    """
    code_of = {text: code for code, text in enumerate(states)}
    number_of: dict[tuple[int, ...], int] = {}
    cells = label_cells(label, states, corpus)
    of_value = np.full(len(cells.readings), MISSING, np.int64)
    for n, reading in enumerate(cells.readings):
        texts = [text if text in code_of or label.others is None else label.others for text in reading]
        codes = sorted({code_of.setdefault(text, len(code_of)) for text in texts})
        if len(codes) == 1:
            of_value[n] = codes[0]
        elif codes and not set(codes).issuperset(range(len(states))):
            of_value[n] = AMBIGUOUS - number_of.setdefault(tuple(codes), len(number_of))
    gold: Ints = of_value[cells.codes]
    told_at = None
    if label.per == "sentence":
        told_at = telling_tokens(gold, MISSING, corpus)
        gold, others = value_of_sentence(gold, MISSING, corpus)
        refuse_mixed(label, corpus, others)
    return Gold(gold, tuple(code_of), tuple(number_of), told_at, 0 if cells.soft is None else len(cells.soft.tokens))


def unseen_values(column: InternedColumn, seen: Collection[str]) -> Mask:
    """[N] tokens whose value of `column` is not among `seen`."""
    known = set(seen)
    new = np.fromiter((text not in known for text in column.values), np.bool_, len(column.values))
    mask: Mask = new[column.codes]
    return mask


def confusion(gold: Integers, predicted: Integers, num_states: int) -> Ints:
    """How often gold state a was labelled b, [K, K]; gold values outside 0 … K-1 are left out."""
    gold, predicted = np.asarray(gold, np.int64), np.asarray(predicted, np.int64)
    inside = (gold >= 0) & (gold < num_states)
    pairs = np.bincount(gold[inside] * num_states + predicted[inside], minlength=num_states**2)
    return pairs.reshape(num_states, num_states)
