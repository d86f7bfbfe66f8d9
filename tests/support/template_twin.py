"""A slow and obvious template model: scores every labelling of a sentence clique by clique, on texts.

It reimplements unrolling, tables, hard constraints, memories and criteria from the specification, the words of a
sentence and a weight for each (clique, feature text, states), without kinds, arenas, programs or feature numbers. A
labelling has a state for every label, latent variable and memory; memories are not enumerated but computed, from left
to right. A test that reads outside the sequence is false.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import reference
from feature_twin import TEXT, Sentence, Twin, pattern, unrolled
from numpy.typing import NDArray

from dcrfdsl.semantics.schema.model_spec import ModelSpec
from dcrfdsl.syntax import CliqueSpec, Constraint, Memory, Site, nodes as ex

Floats = NDArray[np.float64]
Labelling = Mapping[str, Sequence[str]]  # the states of each variable
Known = Mapping[str, Sequence[str | Collection[str]]]  # of each label: a state, or the states that it may have
WeightOf = Mapping[tuple[str, str, tuple[str, ...]], float]
Joins = Callable[[Sentence], Mapping[tuple[int, int], Sequence[str]]]
Allowed = Callable[[Labelling, int], bool]
Firing = Mapping[Any, Mapping[str, float]]  # anchor -> the features that fire there with their values


@dataclass(frozen=True, eq=False)
class Enumerated:
    """Every possible labelling of a sentence, and how often each weight counts in it."""

    states: Mapping[str, Sequence[str]]
    length: int
    index: NDArray[np.int64]  # [labellings, length · variables]  states by number, position by position
    counts: Floats  #           [labellings, weights]

    def scores(self, weights: Floats) -> Floats:
        """log potential of each possible labelling."""
        return self.counts @ weights

    def joint(self, weights: Floats) -> Floats:
        """log potential of every labelling; axis t·variables + variable, -inf for impossible labellings."""
        total = np.full([len(label_states) for label_states in self.states.values()] * self.length, -np.inf)
        total[tuple(self.index.T)] = self.scores(weights)
        return total

    def agreeing(self, known: Known) -> NDArray[np.bool_]:
        """[labellings] whether each has the known labels."""
        agree = np.ones(len(self.index), bool)
        for m, (name, states) in enumerate(self.states.items()):
            for t, allowed in enumerate(known.get(name, ())):
                allowed_states = [allowed] if isinstance(allowed, str) else allowed
                numbers = [number for number, state in enumerate(states) if state in allowed_states]
                agree &= np.isin(self.index[:, t * len(self.states) + m], numbers)
        return agree

    def only(self, known: Known) -> Enumerated:
        """The labellings that have the known labels."""
        agree = self.agreeing(known)
        return Enumerated(self.states, self.length, self.index[agree], self.counts[agree])

    def loss(self, weights: Floats, known: Known) -> float:
        """−log p(known | sentence), with everything unknown summed out."""
        scores = self.scores(weights)
        return reference.log_sum(scores) - reference.log_sum(scores[self.agreeing(known)])

    def gradient(self, weights: Floats, known: Known, step: float = 1e-5) -> Floats:
        """Central differences of `loss` in every weight."""
        scores, agree = self.scores(weights), self.agreeing(known)
        out = np.zeros(len(weights))
        for k in np.flatnonzero(self.counts.any(axis=0)):
            moved = step * self.counts[:, k]
            losses = [reference.log_sum(s) - reference.log_sum(s[agree]) for s in (scores + moved, scores - moved)]
            out[k] = (losses[0] - losses[1]) / (2 * step)
        return out

    def labellings(self, weights: Floats, labels: Sequence[str]) -> dict[tuple[int, ...], float]:
        """log potential of every labelling of the labels alone, the other variables summed out."""
        axes = [t * len(self.states) + m for t in range(self.length)
                for m, name in enumerate(self.states) if name in labels]  # fmt: skip
        scores_of: dict[tuple[int, ...], list[float]] = {}
        for row, score in zip(self.index[:, axes].tolist(), self.scores(weights).tolist(), strict=True):
            scores_of.setdefault(tuple(row), []).append(score)
        return {row: reference.log_sum(np.array(scores)) for row, scores in scores_of.items()}


class TemplateTwin:
    """`states`: those of each variable in order: labels, latents, memories.   `weight`: by (clique's label, feature
    text, states of the sites).

    Optional replacements for what follows from the specification. `allowed(labelling, t)`: hard constraints at position
    t.   `joins`: for each relational clique, by its label, the pairs of positions in a sentence with the features that
    fire.   `views`: for each view its label and the text that it maps each state to.
    """

    def __init__(
        self,
        spec: ModelSpec,
        states: Mapping[str, Sequence[str]],
        weight: WeightOf,
        allowed: Allowed | None = None,
        joins: Mapping[str, Joins] | None = None,
        views: Mapping[str, tuple[str, Mapping[str, str]]] | None = None,
    ):
        self.spec, self.states, self.allowed = spec, states, allowed
        self.joins = joins or {}
        self.views = views or {view.name: view_of(spec, view, states) for view in spec.views}
        self.features = Twin(spec, {}, {})
        self.number = {key: k for k, key in enumerate(weight)}
        self.weights = np.array(list(weight.values()), float)

    # one sentence -----------------------------------------------------------------------------------------------

    def joint(self, sentence: Sentence) -> Floats:
        """log potential of every labelling; axis t·variables + variable."""
        return self.enumerate(sentence).joint(self.weights)

    def loss(self, sentence: Sentence, gold: Known) -> float:
        """−log p(gold | sentence)"""
        return self.enumerate(sentence).loss(self.weights, gold)

    def enumerate(self, sentence: Sentence) -> Enumerated:
        length = len(next(iter(sentence.values())))
        firing = [self.firing(number, sentence, length) for number in range(len(self.spec.cliques))]
        possible = list(self.possible(sentence))
        counts = np.zeros((len(possible), len(self.number)))
        for row, labelling in zip(counts, possible, strict=True):
            for key, value in self.fired(labelling, firing, length):
                if key in self.number:
                    row[self.number[key]] += value
        numbers = {
            name: {state: n for n, state in enumerate(label_states)} for name, label_states in self.states.items()
        }
        index = [[numbers[name][labelling[name][t]] for t in range(length) for name in self.states]
                 for labelling in possible]  # fmt: skip
        return Enumerated(self.states, length, np.array(index, np.int64).reshape(len(index), -1), counts)

    def possible(self, sentence: Sentence) -> Iterator[Labelling]:
        """Every labelling that the hard constraints allow, with the memories that follow from it."""
        length = len(next(iter(sentence.values())))
        free = [name for name in self.states if name not in {memory.name for memory in self.spec.memories}]
        for states in itertools.product(*(self.states[name] for _ in range(length) for name in free)):
            labelling = {name: list(states[m :: len(free)]) for m, name in enumerate(free)}
            labelling |= {memory.name: [] for memory in self.spec.memories}
            meaning = Meaning(self, sentence, labelling, length)
            for t, memory in itertools.product(range(length), self.spec.memories):
                labelling[memory.name].append(meaning.remembered(memory, t))
            if self.allowed is not None:
                allowed = all(self.allowed(labelling, t) for t in range(length))
            else:
                allowed = meaning.legal_segments() and all(
                    meaning.satisfied(constraint, t) for constraint in self.spec.constraints for t in range(length)
                )
            if allowed:
                yield labelling

    def fired(self, labelling: Labelling, firing: Sequence[Firing], length: int) -> Iterator[tuple[Any, float]]:
        """(clique, feature, states) and value of every firing feature of every clique instance."""
        for clique, fires in zip(self.spec.cliques, firing, strict=True):
            for anchor, features in fires.items():
                places = [(site.variable, position(site, anchor, clique.positions)) for site in clique.sites]
                inside = [0 <= t < length for _, t in places]
                if not (any(inside) if clique.edges == "pad" else all(inside)):
                    continue
                states = tuple(
                    self.seen(labelling, name, t) if 0 <= t < length else ("START" if t < 0 else "STOP")
                    for name, t in places
                )
                for text, value in features.items():
                    yield (clique.label, text, states), value

    def seen(self, labelling: Labelling, name: str, t: int) -> str:
        if name in self.views:
            label, states = self.views[name]
            return states[labelling[label][t]]
        return labelling[name][t]

    # features ---------------------------------------------------------------------------------------------------

    def firing(self, number: int, sentence: Sentence, length: int) -> Firing:
        """Anchor → the features that fire there with their values, the bias included."""
        clique = self.spec.cliques[number]
        bias = {"bias": 1.0} if not clique.features or ex.Reference(name="bias") in clique.features else {}
        if clique.where is not None and clique.label in self.joins:
            return {pair: dict.fromkeys(texts, 1.0) for pair, texts in self.joins[clique.label](sentence).items()}
        if clique.where is not None:
            return {pair: bias | self.joint_features(clique, sentence, pair)
                    for pair in self.joined(clique, sentence, length)}  # fmt: skip
        offsets = [getattr(site.place, "offset", 0) for site in clique.sites]
        first = -max(offsets) if clique.edges == "pad" else 0
        last = length - 1 - min(offsets) if clique.edges == "pad" else length - 1
        rows = self.features.rows(number, [sentence])
        return {
            anchor: bias | {text: value for text, (value, _) in rows[i].items()}
            for i, anchor in enumerate(range(first, last + 1))
        }

    def joined(self, clique: CliqueSpec, sentence: Sentence, length: int) -> Iterator[tuple[int, int]]:
        """The pairs of positions that a relational clique joins, by testing every pair."""
        least, most = clique.min_gap, length if clique.max_gap is None else clique.max_gap
        for i in range(length):
            good = []
            for j in range(length) if clique.order == "any" else range(i + 1, length):
                sites = [(site.variable, position(site, (i, j), clique.positions)) for site in clique.sites]
                exist = i != j and all(0 <= t < length for _, t in sites) and len(set(sites)) == len(sites)
                where = placed(clique.where, dict(zip(clique.positions, (i, j), strict=True)))
                (condition,) = unrolled(where, 0)
                if exist and least <= abs(j - i) <= most and self.features.truth(condition, sentence, 0) is True:
                    good.append((i, j))
            yield from good if clique.order == "any" or clique.link == "all" else good[:1]

    def joint_features(self, clique: CliqueSpec, sentence: Sentence, pair: tuple[int, int]) -> dict[str, float]:
        """Crosses of columns at the joined positions, or next to them: `word[i]=a & word[j-1]=b`."""
        features = {}
        at = dict(zip(clique.positions, pair, strict=True))
        for feature in clique.features:
            texts = []
            for factor in feature.factors if isinstance(feature, ex.Cross) else (feature,):
                if factor == ex.Reference(name="bias"):
                    continue
                (condition,) = unrolled(placed(factor, at), 0)
                value = self.features.term(condition, sentence, 0)
                texts.append(f"{named_place(factor)}={value if isinstance(value, str) else value[0]}")
            if texts:
                features[" & ".join(texts)] = 1.0
        return features


def position(site: Site, anchor: int | tuple[int, int], names: Sequence[str]) -> int:
    if isinstance(anchor, tuple):
        return anchor[names.index(site.place.position)] + site.place.shift
    return anchor + getattr(site.place, "offset", 0)


def placed(node: Any, at: Mapping[str, int]) -> Any:
    """An expression with the named positions i and j as offsets from the start of the sentence."""
    if isinstance(node, ex.Named):
        return ex.At(offset=at[node.position] + node.shift)
    if isinstance(node, tuple):
        return tuple(placed(part, at) for part in node)
    if isinstance(node, ex.Node):
        fields = dataclasses.fields(node)  # type: ignore[arg-type]
        return node.model_copy(update={one.name: placed(getattr(node, one.name), at) for one in fields})
    return node


def named_place(term: ex.Reference) -> str:
    return f"{term.name}[{term.place.position}{f'{term.place.shift:+d}' if term.place.shift else ''}]"


# conditions -------------------------------------------------------------------------------------------------------


class Meaning:
    """The truth of conditions on one labelling of one sentence."""

    def __init__(self, twin: TemplateTwin, sentence: Sentence, labelling: Labelling, length: int):
        self.twin, self.spec, self.sentence = twin, twin.spec, sentence
        self.labelling, self.length = labelling, length

    # statements

    def satisfied(self, constraint: Constraint, t: int) -> bool:
        """Whether a `forbid` or `require` holds at t, or has no instance there."""
        places = [offset(term) for term in terms(constraint.condition, constraint.when) if self.is_variable(term)]
        if not all(0 <= t + o < self.length for o in places):
            return True
        if constraint.when is not None and not self.holds(constraint.when, t):
            return True
        return self.holds(constraint.condition, t) != (constraint.action == "forbid")

    def legal_segments(self) -> bool:
        return all(
            SEGMENTS[label.domain.name](self.labelling[label.name])
            for label in self.spec.labels
            if label.domain.kind == "scheme" and label.constrain
        )

    def remembered(self, memory: Memory, t: int) -> str:
        """The state of a memory at t, computed from the earlier states."""
        states = self.twin.states[memory.name]
        initially = memory.initially or "no"
        if t == 0:
            return initially
        value = memory.value
        chosen = value.value if value.condition is None or self.holds(value.condition, t) else value.otherwise
        if isinstance(chosen, ex.Reference) and not self.is_variable(chosen) and self.spec.column(chosen.name) is None:
            return chosen.name
        if memory.domain is None or not isinstance(chosen, ex.Reference | ex.Apply):
            return "yes" if self.holds(chosen, t) else "no"
        text = self.text(chosen, t)
        return text if text is not None and text in states else initially

    # tests: false where they read outside the sequence

    def holds(self, condition: ex.Condition, t: int) -> bool:
        match condition:
            case ex.Not(inner=inner):
                return not self.holds(inner, t)
            case ex.And(parts=parts):
                return all(self.holds(part, t) for part in parts)
            case ex.Or(parts=parts):
                return any(self.holds(part, t) for part in parts)
        if not any(self.is_variable(term) for term in terms(condition)):
            (plain,) = unrolled(condition, 0)
            return self.twin.features.truth(plain, self.sentence, t) is True
        if isinstance(condition, ex.Equals):
            left, right = self.text(condition.left, t), self.text(condition.right, t)
            return left is not None and right is not None and (left == right) != condition.negated
        term = condition if isinstance(condition, ex.Reference) else condition.term
        text = self.text(term, t)
        return text is not None and says(condition, text)

    def text(self, term: ex.Reference | ex.Apply, t: int) -> str | None:
        """The state of a variable, the text of a column, or the word itself; None outside the sequence."""
        if self.is_variable(term):
            at = t + offset(term)
            return self.twin.seen(self.labelling, term.name, at) if 0 <= at < self.length else None
        if isinstance(term, ex.Reference) and self.spec.column(term.name) is None:
            return term.name
        (plain,) = unrolled(term, 0)
        texts = self.twin.features.term(plain, self.sentence, t)
        return None if isinstance(texts, str) else texts[0]

    def is_variable(self, term: ex.Reference | ex.Apply) -> bool:
        return isinstance(term, ex.Reference) and (term.name in self.twin.states or term.name in self.twin.views)


def says(condition: ex.Condition, text: str) -> bool:
    """Whether a test of one value is true of `text`."""
    match condition:
        case ex.Reference():
            return text == "yes"
        case ex.Is(state=state, negated=negated):
            return (text == state) != negated
        case ex.InSet(states=states, negated=negated):
            return (text in states) != negated
        case ex.Matches(regex=regex):
            return bool(pattern(regex).fullmatch(text))
        case ex.Has(regex=regex):
            return bool(pattern(regex).search(text))
    raise AssertionError(condition)


def terms(*conditions: ex.Condition | None) -> Iterator[ex.Reference | ex.Apply]:
    for condition in conditions:
        match condition:
            case None:
                pass
            case ex.Reference() | ex.Apply():
                yield condition
            case ex.Not(inner=inner):
                yield from terms(inner)
            case ex.And(parts=parts) | ex.Or(parts=parts):
                yield from terms(*parts)
            case ex.Equals(left=left, right=right):
                yield from (left, right)
            case _:
                yield condition.term


def offset(term: ex.Reference | ex.Apply) -> int:
    return getattr(term.place, "offset", 0)


def view_of(spec: ModelSpec, view: Any, states: Mapping[str, Sequence[str]]) -> tuple[str, dict[str, str]]:
    """The label of a view, and the text that it maps each state of the label to."""
    value = view.value
    inner = [node.arguments[0].value if isinstance(node, ex.Apply) else node
             for node in terms(value.value, value.condition, value.otherwise)]  # fmt: skip
    (label,) = {node.name for node in inner if node.name in states}

    def taken(node: ex.Condition, state: str) -> str:
        if isinstance(node, ex.Apply):
            return TEXT[node.function](state, [node.arguments[1].value.value])[0]
        if isinstance(node, ex.Reference):
            return state if node.name == label else node.name
        return "yes" if says(node, state) else "no"

    def seen(state: str) -> str:
        first = value.condition is None or says(value.condition, state)
        return taken(value.value if first else value.otherwise, state)

    return label, {state: seen(state) for state in states[label]}


def goes_on(states: Sequence[str], before: str, after: str) -> bool:
    """Whether every state with a mark of `after` has one of the same type with a mark of `before` to its left."""
    return all(
        state[0] not in after or (t > 0 and states[t - 1][0] in before and states[t - 1][1:] == state[1:])
        for t, state in enumerate(states)
    )


SEGMENTS: dict[str, Callable[[Sequence[str]], bool]] = {
    "bio": lambda states: goes_on(states, "BI", "I"),
    # read backwards, what must go on is what must have begun
    "iob1": lambda states: all(
        a != "O" and a[1:] == b[1:] for a, b in itertools.pairwise(["O", *states]) if b[0] == "B"
    ),
    "bioes": lambda states: goes_on(states, "BI", "IE") and goes_on(states[::-1], "IE", "BI"),
    "bilou": lambda states: goes_on(states, "BI", "IL") and goes_on(states[::-1], "IL", "BI"),
    "bmes": lambda states: goes_on(states, "BM", "ME") and goes_on(states[::-1], "ME", "BM"),
}
