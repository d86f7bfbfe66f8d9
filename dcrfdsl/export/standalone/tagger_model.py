"""`Tagger`: the model of the file beside this one, which labels sentences and gives their probabilities.

The `.npz` file holds a description (JSON) of cliques, features and columns, and a few long arrays that its parts take
their numbers from, one after another. Not here: features, inference, the command line.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .tagger_elimination import Clique, Program, best_states, marginal_tables, program_for
from .tagger_features import LAST_KEY, Atom, FeatureSet, Stage, Template, Weights, atom_of
from .tagger_sentences import Sentences, holds_of, state_numbers_of
from .tagger_texts import Lexicon
from .tagger_tokens import Column, Label, Sentence, TaggerError, columns_of, numbers_of

FORMAT = 2
NO_LABEL = "_"  # of a sentence that no labelling is possible for
NUMERIC = ("float", "int", "vector", "scores")
MOST_ENTRIES = 1 << 18  # of a table for all sentences of a batch: larger ones fall out of the cache
MOST_SCORES = 1 << 22  # numbers of all tables of a batch
MOST_POSITIONS = 50_000  # of all lengths whose steps are kept

Known = Mapping[str, Sequence[str | None]] | None
Given = Mapping[str, Sequence[str | None]] | Sequence[str | None]
Labels = list[str] | dict[str, list[str]]


class Cut:
    """The arrays of a model file, from which parts are cut off in the order in which they were written."""

    def __init__(self, path: Path):
        try:
            with open(path, "rb") as file, np.load(file) as stored:
                self.arrays = {name: stored[name] for name in stored.files}
            self.description = json.loads(self.arrays["description"].tobytes())
            known = self.description["format"] == FORMAT
        except FileNotFoundError:
            message = f"there is no model file `{path}`: it lies beside the program that it was written with"
            raise TaggerError(message) from None
        except Exception:  # of many kinds: numpy, zipfile, zlib and JSON have their own, and numpy advises to unpickle
            raise TaggerError(f"`{path}` is damaged, or no file of a tagger, which ends in `.npz`") from None
        if not known:
            raise TaggerError(f"`{path}` belongs to another version of this program")
        self.at = dict.fromkeys(self.arrays, 0)

    def next(self, name: str, count: int) -> NDArray[Any]:
        """The next `count` numbers of an array."""
        start = self.at[name]
        self.at[name] = start + count
        numbers: NDArray[Any] = self.arrays[name][start : start + count]
        if len(numbers) < count:
            raise ValueError(f"`{name}` is too short")
        return numbers


class Part(NamedTuple):
    """A clique with its numbers.

    tables: of each kind the log potentials that all instances share, [states …].   cells: of each kind, for each entry
    of its table the assignment that has its weights; None if they are the same.   observed: of a constraint that
    reads the data, what each observation is, and how many values it has; `allowed` has log potentials for each code,
    [codes, assignments].   given: the columns of scores that are added, each with its factor and the tests that must
    all be true.   segment: of segments that end here, how many tokens they have, else 0.
    """

    clique: Clique
    feature_set: int
    weights: Weights | None
    tables: list[NDArray[np.float64]]
    cells: list[NDArray[np.int64] | None]
    observed: list[tuple[Any, int]]
    allowed: NDArray[np.float64] | None
    given: list[tuple[str, float, list[tuple[Any, int]]]]
    segment: int


class Tagger:
    """A tagger. `Tagger()` reads the model file of the same name beside this program, `Tagger(path)` another one.

    labels: the names of the labels.   states: of each label.   columns: the columns that a sentence needs.

    >>> tagger = Tagger()
    >>> tagger.tag([("The", "DT"), ("dog", "NN")])
    ['B-NP', 'I-NP']
    """

    def __init__(self, path: str | Path | None = None):
        cut = Cut(Path(path) if path is not None else Path(__file__).with_suffix(".npz"))
        try:
            self._read(cut, cut.description)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise TaggerError(f"the model file is damaged: {type(error).__name__}: {error}") from None

    def _read(self, cut: Cut, description: dict[str, Any]) -> None:
        self.data = description["data"]
        self._columns = [
            Column(**{**column, "assignments": tuple(column["assignments"])}) for column in description["columns"]
        ]
        self._labels = [Label(**{**label, "states": tuple(label["states"])}) for label in description["labels"]]
        self.labels = tuple(label.name for label in self._labels)
        self.states = {label.name: label.states for label in self._labels}
        self.columns = tuple(column.name for column in self._columns if column.name not in self.labels)
        self._decode, self._temperature = description["decode"], description["temperature"]
        self._cards, self._order = description["cards"], description["order"]
        self._latents, self._whole = frozenset(description["latents"]), frozenset(description["whole"])
        self._leaves = description["leaves"]
        self._read_features(cut, description)
        self._parts: list[Part] = []
        for part in description["cliques"]:
            self._parts.append(self._part(cut, part))
        self._programs: dict[tuple[int, bool, bool], Program] = {}

    def _read_features(self, cut: Cut, description: dict[str, Any]) -> None:
        texts = _stored_texts(cut)
        self._lexicons = {}
        for name, (count, has_values, ignores_case) in description["lexicons"].items():
            entries = [next(texts) for _ in range(count)]
            values = [next(texts) for _ in range(count)] if has_values else [""] * count
            self._lexicons[name] = Lexicon(zip(entries, values, strict=True))
            self._lexicons[name].ignores_case = ignores_case
        vocabularies = [{next(texts): code for code in range(count)} for count in description["vocabularies"]]
        self._atoms: list[Atom] = [atom_of(node, self._lexicons, vocabularies) for node in description["atoms"]]
        self._sets = [_feature_set(cut, one) for one in description["sets"]]

    def _part(self, cut: Cut, part: dict[str, Any]) -> Part:
        cards = [self._cards[variable] for variable in part["variables"]]
        patterns = {tuple(kind["pattern"]): number for number, kind in enumerate(part["kinds"])}
        tables, cells = [], []
        for kind in part["kinds"]:
            inside = [card for card, outside in zip(cards, kind["pattern"], strict=True) if not outside]
            size = math.prod(inside)
            tables.append(cut.next("tables", size).astype(np.float64).reshape(inside))
            cells.append(cut.next("maps", size).astype(np.int64) if kind["mapped"] else None)
        weights, first_row = None, None
        if part["set"] is not None and part["segment"] > 1:  # segments of all lengths have the same weights
            weights, first_row = self._parts[-1].weights, 0
        elif part["set"] is not None:
            features = self._sets[part["set"]]
            runs = cut.next("runs", features.num_features)
            off = np.concatenate([np.zeros(1, np.int64), np.cumsum(runs, dtype=np.int64)])
            entries = cut.next("cells", int(off[-1])), cut.next("weights", int(off[-1])).astype(np.float64)
            weights, first_row = Weights(off, *entries, part["assignments"]), features.pads[0]
        allowed = None
        if part["codes"]:
            first_row = 0
            size = part["codes"] * part["assignments"]
            if part["priced"]:
                allowed = cut.next("prices", size).astype(np.float64)
            else:
                allowed = np.where(cut.next("allowed", size), 0.0, -np.inf)
            allowed = allowed.reshape(part["codes"], part["assignments"])
        given = [(column, factor, self._observed(tests)) for column, factor, tests in part["given"]]
        if given:
            first_row = 0
        clique = Clique(part["variables"], part["offsets"], patterns, part["padded"], part["position"], first_row)
        return Part(
            clique,
            part["set"] if part["set"] is not None else -1,
            weights,
            tables,
            cells,
            self._observed(part["observed"]),
            allowed,
            given,
            part["segment"],
        )

    def _observed(self, written: Sequence[Any]) -> list[tuple[Any, int]]:
        """What each of these observations is, and how many values it has."""
        return [
            (state_numbers_of(one, self._lexicons) if one[0] == "state" else holds_of(one, self._lexicons), count)
            for one, count in written
        ]

    # sentences --------------------------------------------------------------------------------------------------------

    def tag(self, tokens: Sentence, given: Given | None = None) -> Labels:
        """The best labels of a sentence, as `tag` of the model returns them: a list with a state for each token, or by
        label a dict of such lists if there are several labels.

        tokens: a list with a mapping or a tuple a token (a text, if the model has one column), or a mapping of columns.
        given: labels known beforehand, a list or by label; None or `_` for a token that is free.

        Raises TaggerError for input that does not fit, or if no labelling is possible.
        """
        return self.tag_all([tokens], [given])[0]

    def marginals(self, tokens: Sentence, given: Given | None = None) -> dict[str, NDArray[np.float64]]:
        """The probability of each state at each token: of each label [tokens, states], in the order of `states`.

        Arguments as in `tag`. NaN if no labelling is possible.
        """
        return self.marginals_all([tokens], [given])[0]

    def tag_all(self, sentences: Sequence[Sentence], given: Sequence[Given | None] | None = None) -> list[Labels]:
        """`tag` of several sentences, which takes less time than one by one."""
        found, without = self._labelled(sentences, given)
        if without:
            where = f"for sentence {without[0] + 1}" if len(found) > 1 else "for the sentence"
            raise TaggerError(f"no labelling is possible {where}")
        return [own[self.labels[0]] for own in found] if len(self.labels) == 1 else list(found)

    def _labelled(
        self, sentences: Sequence[Sentence], given: Sequence[Given | None] | None = None
    ) -> tuple[list[dict[str, list[str]]], list[int]]:
        """The best labels of each sentence by label, and the sentences that no labelling is possible for: they have
        `_` at each token.
        """
        out: list[dict[str, list[str]]] = [{label: [] for label in self.labels} for _ in sentences]
        without: list[int] = []
        for numbers, batch, known in self._batches(sentences, given):
            if self._decode == "marginal":
                tables, possible = self._marginals(batch, known)
                codes = [np.where(possible[:, None], table.argmax(axis=-1), -1) for table in tables]
            else:
                codes = self._best(batch, known)
            for label, states in zip(self._labels, codes, strict=True):
                names = (*label.states, NO_LABEL)  # the code -1 is the last one
                for number, row in zip(numbers, states.tolist(), strict=True):
                    out[number][label.name] = [names[code] for code in row]
            without += [number for number, row in zip(numbers, codes[0].tolist(), strict=True) if row[0] < 0]
        return out, sorted(without)

    def marginals_all(
        self, sentences: Sequence[Sentence], given: Sequence[Given | None] | None = None
    ) -> list[dict[str, NDArray[np.float64]]]:
        """`marginals` of several sentences, which takes less time than one by one."""
        out: list[dict[str, NDArray[np.float64]]] = [
            {label.name: np.zeros((0, len(label.states))) for label in self._labels} for _ in sentences
        ]
        for numbers, batch, known in self._batches(sentences, given):
            tables, possible = self._marginals(batch, known)
            for label, table in zip(self._labels, tables, strict=True):
                table[~possible] = np.nan
                for number, rows in zip(numbers, table, strict=True):
                    out[number][label.name] = rows
        return out

    def _batches(
        self, sentences: Sequence[Sentence], given: Sequence[Given | None] | None
    ) -> Iterator[tuple[list[int], Sentences, Sequence[Known] | None]]:
        """Batches of sentences of one length: their numbers, their columns, and what is known of their labels."""
        checked = [columns_of(one, self._columns, self.labels) for one in sentences]
        by_length: dict[int, list[int]] = {}
        for number, columns in enumerate(checked):
            by_length.setdefault(len(next(iter(columns.values()), ())), []).append(number)
        by_length.pop(0, None)
        known_at_all = given is not None and any(given)
        for length, every in by_length.items():
            program = self._program(length, known_at_all, marginals=False)
            scores = length * sum(sum(table.size for table in part.tables) for part in self._parts)
            most = max(1, min(MOST_ENTRIES // program.largest, MOST_SCORES // max(1, scores)))
            for start in range(0, len(every), most):
                numbers = every[start : start + most]
                joined: dict[str, Any] = {}
                for column in self._columns:
                    if column.name in self.columns:
                        values = [value for number in numbers for value in checked[number][column.name]]
                        is_numeric = column.type in NUMERIC
                        joined[column.name] = numbers_of(values, len(numbers), length) if is_numeric else values
                batch = Sentences(len(numbers), length, joined, self._leaves, self._lexicons)
                known = None
                if given is not None and known_at_all:
                    known = [self._by_label(given[number]) for number in numbers]
                yield numbers, batch, known

    # inference --------------------------------------------------------------------------------------------------------

    def _program(self, length: int, known: bool, *, marginals: bool) -> Program:
        """The steps for sentences of a length. Latent variables come first where the best labels are asked for."""
        latents_first = bool(self._latents) and self._decode == "joint" and not marginals
        key = length, known, latents_first
        if key not in self._programs:
            if sum(kept[0] for kept in self._programs) + length > MOST_POSITIONS:
                self._programs.clear()
            width = len(self._cards)
            order = [t * width + m for t in range(length) for m in self._order]
            if latents_first:
                order.sort(key=lambda variable: variable % width not in self._latents)
            order += sorted(self._whole)
            kinds, cliques = 0, []
            for part in self._parts:
                numbered = {pattern: kinds + kind for pattern, kind in part.clique.kinds.items()}
                kinds += len(numbered)
                cliques.append(part.clique._replace(kinds=numbered))
            if known:
                for m in range(len(self._labels)):
                    cliques.append(Clique([m], [0], {(0,): kinds + m}, padded=False, position=None, first_row=0))
            self._programs[key] = program_for(length, cliques, self._cards, order, self._whole)
        return self._programs[key]

    def _tables(self, batch: Sentences, known: Sequence[Known] | None, scale: float) -> list[NDArray[np.float64]]:
        """The log potentials of each kind, [B or 1, rows, states of each site]."""
        fired = [features.fired(batch, self._atoms) for features in self._sets]
        tables: list[NDArray[np.float64]] = []
        of_segments: dict[int, NDArray[np.float64]] = {}  # by feature set, the scores of all candidates
        for part in self._parts:
            scores = _given(part, batch) if part.given else None
            if part.allowed is not None:
                scores = part.allowed[_codes(part.observed, batch)]
            if part.weights is not None:
                features = self._sets[part.feature_set]
                scores = of_segments.get(part.feature_set)
                if scores is None:
                    shape = batch.size, features.rows(batch.length), part.weights.num_assignments
                    scores = part.weights.scores(fired[part.feature_set], shape[0] * shape[1]).reshape(shape)
                if part.segment:
                    of_segments[part.feature_set] = scores
                    scores = features.at_ends(scores, part.segment, batch.length)
            for table, cells in zip(part.tables, part.cells, strict=True):
                if scores is None:
                    tables.append(scale * table[None, None])
                else:
                    mine = scores if cells is None else scores[..., cells]
                    tables.append(scale * (mine.reshape(*scores.shape[:2], *table.shape) + table))
        if known is not None:
            tables += [self._known(label, known, batch.length) for label in self._labels]
        return tables

    def _by_label(self, given: Given | None) -> Known:
        """Known labels by label."""
        if given is None or isinstance(given, Mapping):
            return given
        if len(self.labels) > 1:
            raise TaggerError("the model has several labels, and `given` is one list: give a dict of lists by label")
        return {self.labels[0]: given}

    def _known(self, label: Label, known: Sequence[Known], length: int) -> NDArray[np.float64]:
        """0 for the states that are possible, -inf for the others, [B, T, states]."""
        out = np.zeros((len(known), length, len(label.states)))
        for s, of_sentence in enumerate(known):
            cells = (of_sentence or {}).get(label.name)
            if cells is None:
                continue
            if len(cells) != length:
                raise TaggerError(f"{len(cells)} known values of `{label.name}` for {length} tokens")
            for t, cell in enumerate(cells):
                if allowed := label.allowed(cell):
                    out[s, t] = -np.inf
                    out[s, t, allowed] = 0.0
                    if self.labels.index(label.name) in self._whole:  # the first cell that says something counts
                        out[s, 0] = out[s, t]
                        break
        return out

    def _marginals(
        self, batch: Sentences, known: Sequence[Known] | None
    ) -> tuple[list[NDArray[np.float64]], NDArray[np.bool_]]:
        """Of each label [B, T, states], and which sentences have a possible labelling [B]."""
        program = self._program(batch.length, known is not None, marginals=True)
        tables = self._tables(batch, known, self._temperature)
        found, log_z = marginal_tables(program, tables, batch.size)
        of_variable = {step.scope[-1]: table for step, table in zip(program.steps, found, strict=True)}
        return self._stacked(of_variable, batch.length), ~np.isneginf(log_z)

    def _best(self, batch: Sentences, known: Sequence[Known] | None) -> list[NDArray[np.int64]]:
        """The best labelling, [B, T] of each label; -1 if none is possible."""
        program = self._program(batch.length, known is not None, marginals=False)
        tables = self._tables(batch, known, self._temperature if self._latents else 1.0)
        width = len(self._cards)
        states, score = best_states(program, tables, batch.size, lambda variable: variable % width in self._latents)
        by_label = self._stacked(states, batch.length)
        return [np.where(np.isneginf(score)[:, None], -1, of_label) for of_label in by_label]

    def _stacked(self, of_variable: Mapping[int, NDArray[Any]], length: int) -> list[NDArray[Any]]:
        """What each variable has, [B, …], of each label [B, T, …]; that of a sentence has one for all tokens."""
        width = len(self._cards)
        return [
            np.stack([of_variable[m if m in self._whole else t * width + m] for t in range(length)], axis=1)
            for m in range(len(self._labels))
        ]


# parts of the file --------------------------------------------------------------------------------------------------


def _stored_texts(cut: Cut) -> Iterator[str]:
    """All texts of lexicons and vocabularies, in order."""
    text = cut.arrays["texts"].tobytes().decode()
    start = 0
    for end in accumulate(cut.arrays["text_lengths"].tolist()):
        yield text[start:end]
        start = end


def _feature_set(cut: Cut, one: dict[str, Any]) -> FeatureSet:
    templates, first = [], 0
    for template in one["templates"]:
        keys = _keys(cut, "keys", template["count"])
        stages = []
        for before, count in template["stages"]:
            stages.append(Stage(before, _keys(cut, "stage_keys", count)))
        inside = tuple(template["inside"]) if template["inside"] else None
        factors = [tuple(factor) for factor in template["factors"]]
        templates.append(Template(factors, template["sizes"], keys, first, inside, stages))
        first += template["count"]
    segments = None if one["segments"] is None else (one["segments"][0], one["segments"][1])
    return FeatureSet(templates, (one["pads"][0], one["pads"][1]), one["summed"], segments)


def _keys(cut: Cut, name: str, count: int) -> NDArray[np.int64]:
    """Sorted keys, which the file holds as differences, and `LAST_KEY`."""
    return np.append(np.cumsum(cut.next(name, count), dtype=np.int64), LAST_KEY)


def _given(part: Part, batch: Sentences) -> NDArray[np.float64]:
    """The sum of the scores that are given at each token, [B, T, assignments]."""
    total: NDArray[np.float64] = np.zeros(())
    for column, factor, tests in part.given:
        holds = _codes(tests, batch)[:, :, None] == 2 ** len(tests) - 1
        total = total + np.where(holds, factor * batch.columns[column], 0.0)
    return total


def _codes(observed: Sequence[tuple[Any, int]], batch: Sentences) -> NDArray[np.int64]:
    """The code of all observations together at each token, [B, T]; the first one changes slowest."""
    codes = np.zeros((batch.size, batch.length), np.int64)
    for read, count in observed:
        codes = codes * count + read(batch)
    return codes
