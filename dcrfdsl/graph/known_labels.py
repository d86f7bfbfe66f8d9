"""The known values of the variables of a data set: gold labels, their memories, and the states possible elsewhere.

A variable at a token has a known state, any state, one of a set of states, or a distribution (`Gold`). Memories follow
from known labels; latent variables are never known. Not here: reading labels (`data.labels`), weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np

from ..data import SoftStates
from ..features import Pairs
from ..foundation import Codes, Floats, Ints, Ints32, Mask, dataclass
from ..semantics import HardTable
from .segment_shapes import complete_sentences
from .shapes import offsets_of
from .templates import CliqueTemplate

UNKNOWN = -1


@dataclass(frozen=True, eq=False)
class Gold:
    """`codes[m, n]` of variable m at token n: its state; -1: any state; -2 - k: one of the states `sets[m][k]`.

    Each variable of a position has a row: labels, latents, memories. `soft[m]` are the distributions of label m, whose
    codes allow what has a probability.
    """

    codes: Codes  # [variables, N]
    sets: tuple[tuple[tuple[int, ...], ...], ...]  # for each variable
    soft: Mapping[int, SoftStates] = field(default_factory=dict)

    def soft_sentences(self, sentence_off: Ints) -> Mask:
        """Whether some label of the sentence has a distribution, [S]."""
        found = np.zeros(len(sentence_off) - 1, np.bool_)
        for soft in self.soft.values():
            found[np.searchsorted(sentence_off, soft.tokens, side="right") - 1] = True
        return found

    def open_sentences(self, sentence_off: Ints) -> Mask:
        """Whether training sums something out in the sentence, [S]."""
        return ~self.complete_sentences(sentence_off) & ~self.soft_sentences(sentence_off)

    def probabilities(self, variable: int, card: int) -> Floats:
        """The probability of each state of a label at each token, [N, card]; 1 for all that an unknown one may be."""
        share = self.allowed(variable, card)[self.runs(variable, card)].astype(np.float64)
        if variable in self.soft:
            share[self.soft[variable].tokens] = self.soft[variable].share
        return share

    def complete_sentences(self, sentence_off: Ints) -> Mask:
        """Whether every variable of the sentence is known, [S]."""
        return complete_sentences(np.any(self.codes < 0, axis=0), sentence_off)

    def allowed(self, variable: int, card: int) -> Mask:
        """Which states agree with each code, [runs of `choices`, card]."""
        off, states = self.choices(variable, card)
        allowed = np.zeros((len(off) - 1, card), np.bool_)
        allowed[np.repeat(np.arange(len(off) - 1), np.diff(off)), states] = True
        return allowed

    def runs(self, variable: int, card: int) -> Ints32:
        """The run of `choices` for the code of a variable at each token, [N]."""
        codes = self.codes[variable]
        runs: Ints32 = np.where(codes >= 0, codes, card - 1 - codes).astype(np.int32)
        return runs

    def contradicts(self, states: Ints32, cards: Sequence[int]) -> Mask:
        """Where `states` [len(cards), N] of the first variables are impossible; never where a state is < 0."""
        codes = self.codes[: len(cards)]
        out: Mask = (states != codes) & (states >= 0) & (codes >= 0)
        for variable in np.flatnonzero((codes < UNKNOWN).any(axis=1)).tolist():
            one_of, card = codes[variable] < UNKNOWN, cards[variable]
            predicted = states[variable][one_of]
            allowed = self.allowed(variable, card)[self.runs(variable, card)[one_of], np.maximum(predicted, 0)]
            out[variable, one_of] = (predicted >= 0) & ~allowed
        return out

    def choices(self, variable: int, card: int) -> tuple[Ints, Ints]:
        """The states that each code allows, as runs: run c for code c, run card + i for code -1 - i.

        Returns the offsets of the runs and their states.
        """
        runs = [*((state,) for state in range(card)), tuple(range(card)), *self.sets[variable]]
        return offsets_of(runs), np.array([state for run in runs for state in run], np.int64)


def instances_of(template: CliqueTemplate, sentence_off: Ints, pairs: Pairs | None = None) -> tuple[Ints, Ints]:
    """Sentence and anchor of every instance of a template in a data set; for pairs, the anchor is their number."""
    if pairs is not None:
        sentence = np.repeat(np.arange(len(pairs.off) - 1), np.diff(pairs.off))
        return sentence, np.arange(len(sentence)) - pairs.off[sentence]
    lengths = np.diff(sentence_off)
    distinct, which = np.unique(lengths, return_inverse=True)
    spans = [template.anchors(length) for length in distinct.tolist()]
    first = np.array([span.start for span in spans], np.int64)[which]
    count = np.array([len(span) for span in spans], np.int64)[which]
    sentence = np.repeat(np.arange(len(lengths)), count)
    starts = np.cumsum(count) - count
    anchor = np.arange(len(sentence)) - starts[sentence] + first[sentence]
    if template.pad:  # no instance lies between two sites that are further apart than the sequence is long
        lies = np.zeros(len(anchor), np.bool_)
        for offset in template.offsets:
            lies |= (anchor + offset >= 0) & (anchor + offset < lengths[sentence])
        sentence, anchor = sentence[lies], anchor[lies]
    return sentence, anchor


def _sites(
    template: CliqueTemplate, gold: Gold, sentence_off: Ints, sentence: Ints, anchor: Ints, pairs: Pairs | None
) -> list[Ints]:
    """For each site the run of `Gold.choices` at every instance; -1 before the sequence, -2 after it."""
    lengths = np.diff(sentence_off)
    runs_of_sites = []
    ends = template.ends or (0,) * len(template.variables)
    for variable, offset, end, card in zip(template.variables, template.offsets, ends, template.cards, strict=True):
        runs = gold.runs(variable, card).astype(np.int64)
        if pairs is not None:
            runs_of_sites.append(runs[(pairs.first, pairs.second)[end] + offset])
            continue
        t = anchor + offset
        inside = (t >= 0) & (t < lengths[sentence])
        token = np.where(inside, sentence_off[sentence] + t, 0)
        run = runs[token] if len(runs) else np.zeros(len(t), np.int64)
        runs_of_sites.append(np.where(inside, run, np.where(t < 0, -1, -2)))
    return runs_of_sites


def known_assignments(
    template: CliqueTemplate, gold: Gold, sentence_off: Ints, sentence: Ints, anchor: Ints, pairs: Pairs | None = None
) -> Ints:
    """The assignment of each instance as weights distinguish them, with START and STOP outside; -1 if unknown."""
    assignment, known = np.zeros(len(sentence), np.int64), np.ones(len(sentence), bool)
    sites = _sites(template, gold, sentence_off, sentence, anchor, pairs)
    for runs, seen, count, full in zip(
        sites, template.seen_states, template.weight_cards, template.full_cards, strict=True
    ):
        known &= runs < len(seen)
        state = seen[np.clip(runs, 0, len(seen) - 1)]
        assignment = assignment * full + np.where(runs >= 0, state, count - 1 - runs)
    return np.where(known, assignment, UNKNOWN)


def possible_assignments(
    template: CliqueTemplate, gold: Gold, sentence_off: Ints, sentence: Ints, anchor: Ints, pairs: Pairs | None = None
) -> tuple[Ints, Ints]:
    """Every possible assignment of the instances: (instance, assignment) pairs, instance by instance.

    If an instance has several, those that a hard constraint over the same sites forbids are left out.
    """
    assignment = known_assignments(template, gold, sentence_off, sentence, anchor, pairs)
    open_ = np.flatnonzero(assignment < 0)
    if not len(open_):
        return np.arange(len(sentence)), assignment
    which, partial, cell = open_, np.zeros(len(open_), np.int64), np.zeros(len(open_), np.int64)
    sites = _sites(template, gold, sentence_off, sentence, anchor, pairs)
    outside = np.zeros(len(open_), bool)
    for runs, variable, seen, count, full in zip(
        sites, template.variables, template.seen_states, template.weight_cards, template.full_cards, strict=True
    ):
        off, states = gold.choices(variable, len(seen))
        run = runs[which]
        at, many = off[np.maximum(run, 0)], np.where(run >= 0, np.diff(off)[np.maximum(run, 0)], 1)
        again = np.repeat(np.arange(len(which)), many)
        step = np.arange(len(again)) - np.repeat(np.cumsum(many) - many, many)
        lies = run[again] >= 0
        state = states[np.where(lies, at[again] + step, 0)]
        partial = partial[again] * full + np.where(lies, seen[state], count - 1 - run[again])
        cell, outside, which = cell[again] * len(seen) + state, outside[again] | ~lies, which[again]
    if template.allowed is not None:
        kept = outside | template.allowed.ravel()[cell]
        which, partial = which[kept], partial[kept]
    known = np.flatnonzero(assignment >= 0)
    which, partial = np.concatenate([known, which]), np.concatenate([assignment[known], partial])
    order = np.argsort(which, kind="stable")
    return which[order], partial[order]


def fill_memories(
    codes: Codes,
    tables: Sequence[Sequence[HardTable]],
    observed: Sequence[Sequence[Ints32]],
    number: Mapping[str, int],
    sentence_off: Ints,
) -> None:
    """Writes the values of memories whose inputs are all known; `codes` as in `Gold`, changed in place.

    tables[k]: those of memory k.   observed[k][i] [N]: the codes that its table i reads.   number: of each variable.
    """
    lengths = np.diff(sentence_off)
    for t in range(int(lengths.max(initial=0)) if tables else 0):
        token = sentence_off[:-1][lengths > t] + t
        for of_memory, read in zip(tables, observed, strict=True):
            table, code = next(
                (table, code)
                for table, code in zip(of_memory, read, strict=True)
                if table.position == t or (table.position is None and t >= -min(offset for _, offset in table.sites))
            )
            axes = {site: axis for axis, site in enumerate(table.sites)}
            memory = next(number[name] for name, offset in table.sites if offset == 0)
            states = {site: codes[number[site[0]], token + site[1]] for site in axes if site[1] < 0}
            known = np.all([values >= 0 for values in states.values()], axis=0) if states else np.ones(len(token), bool)
            value_axis = next(axis for site, axis in axes.items() if site[1] == 0)
            value = np.moveaxis(table.allowed, 1 + value_axis, -1).argmax(axis=-1)
            place = (code[token], *(np.maximum(values, 0) for values in states.values()))
            codes[memory, token] = np.where(known, value[place], UNKNOWN)
