"""Random templates as texts, with sentences and gold: every family of graphs, small enough to be enumerated.

A template is drawn statement by statement: the family determines its main cliques; constraints, memories, latent
variables, views, padded edges and unknown labels are added at random. Templates that the checker refuses are drawn
again. Gold is drawn from the labellings that the hard constraints allow, according to the twin.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from feature_twin import Sentence
from template_twin import TemplateTwin

from dcrfdsl.data import corpus_from_rows
from dcrfdsl.data.corpus import Corpus
from dcrfdsl.foundation.errors.diagnostics import DcrfError
from dcrfdsl.semantics.checks.checker import check
from dcrfdsl.semantics.resolve.resolution import Resolved, load_text

MOST_LABELLINGS = 1000  # of the labels and latent variables of one sentence
MOST_ENTRIES = 300_000  # of its joint table, memories included
MARKS = {"missing": 'missing = "_"', "ambiguous": 'ambiguous = "|"'}
ONE_ITERATION = "train.optimizer=lbfgs(max_iterations=1)"


@dataclass(frozen=True)
class RandomCase:
    """`known`: for each sentence and label, the states that the cell at each position allows."""

    family: str
    text: str
    rows: list[list[tuple[str, ...]]]
    tables: list[Sentence]
    known: list[Mapping[str, Sequence[Collection[str]]]]

    def resolved(self) -> Resolved:
        return load_text(self.text, overrides=[ONE_ITERATION])

    def corpus(self) -> Corpus:
        data = self.resolved().require().data
        assert data is not None
        return corpus_from_rows(self.rows, data)

    @property
    def partly_known(self) -> bool:
        """Whether a cell leaves its label open, even if the label has only one state."""
        return any(mark in cell for sentence in self.rows for row in sentence for cell in row for mark in "_|")


@dataclass
class Draft:
    """A template in the making: its variables with their states, and its statements in the order of a file."""

    rng: np.random.Generator
    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    domains: dict[str, str] = field(default_factory=dict)
    latents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    memories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    heads: bool = False
    statements: list[str] = field(default_factory=list)
    cliques: list[str] = field(default_factory=list)
    unknown: dict[str, str] = field(default_factory=dict)  # for a label: `missing`, `ambiguous` or both

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def pick(self, of: Sequence[str]) -> str:
        return of[int(self.rng.integers(len(of)))]

    # statements ---------------------------------------------------------------------------------------------------

    def label(self, name: str, *, card: int | None = None) -> str:
        """A new label with plain states, or segment states."""
        if card is None and self.chance(0.25):
            marks, domain = ("BI", "bio(X)") if self.chance(0.6) else ("BIES", "bioes(X)")
            states = (*(f"{mark}-X" for mark in marks), "O")
        else:
            card = card or int(self.rng.choice([1, 2, 2, 2, 3, 3]))
            states = tuple(f"{name.upper()}{k}" for k in range(card))
            domain = f"{{{', '.join(states)}}}"
        self.labels[name], self.domains[name] = states, domain
        if self.chance(0.85):
            self.clique(name, learned=True)
        return name

    def latent(self, name: str, states: Sequence[str] | None = None) -> str:
        if states is None:
            card = int(self.rng.integers(2, 4))
            states, domain = [str(k) for k in range(card)], str(card)
        else:
            domain = f"{{{', '.join(states)}}}"
        self.latents[name] = tuple(states)
        self.statements.append(f"latent {name} in {domain}")
        return name

    def clique(self, sites: str, *, learned: bool = False, pad: float = 0.15) -> None:
        """A clique with random features and options; `learned`: it has features of the words."""
        options = []
        if self.chance(0.3):
            options.append(f"states = {self.pick(['seen', 'all'])}")
        if "," in sites and self.chance(pad):
            options.append("edges = pad")
        text = f"clique {sites}" + (f" as c{len(self.cliques)}" if self.chance(0.5) or self.taken(sites) else "")
        text += f" with {', '.join(options)}" if options else ""
        if learned or self.chance(0.5):
            text += f": {', '.join(self.features())}"
        self.cliques.append(text)

    def taken(self, sites: str) -> bool:
        return any(other.removeprefix("clique ").startswith(sites) for other in self.cliques)

    def features(self) -> list[str]:
        count = int(self.rng.integers(1, 3))
        features = list(dict.fromkeys(self.pick(FEATURES) for _ in range(count)))
        return ["bias", *features] if self.chance(0.4) else features

    def state_of(self, name: str) -> str:
        return self.pick({**self.labels, **self.latents, **self.memories}[name])

    def text(self) -> str:
        columns = ["word", "pos", "size:float", *(["head"] if self.heads else []), *self.labels]
        lines = [f"data conll({', '.join(columns)})"]
        for name, domain in self.domains.items():
            options = ", ".join(MARKS[kind] for kind in self.unknown.get(name, "").split())
            lines.append(
                f"label {name}" + (f" in {domain}" if domain else "") + (f" with {options}" if options else "")
            )
        return "\n".join([*lines, *self.statements, *self.cliques, "infer exact", ""])


FEATURES = (
    "word",
    "word[-1..1]",
    "lower(word)",
    "pos & word",
    "size",
    "pos & size",
    "word[-1] is a",
    "first",
    "pos[1]",
)


# families -----------------------------------------------------------------------------------------------------------


def chain(d: Draft) -> None:
    y = d.label("y")
    d.clique(f"{y}[-1], {y}" if d.chance(0.7) else f"{y}, {y}[1]")


def independent(d: Draft) -> None:
    d.label("y")
    d.cliques.append("clique y as alone: word")
    if d.chance(0.5):
        d.clique("y")


def factorial(d: Draft) -> None:
    names = [d.label(name) for name in "xyz"[: int(d.rng.integers(2, 4))]]
    for name in names:
        if d.chance(0.8):
            d.clique(f"{name}[-1], {name}")
    for one, other in itertools.pairwise(names):
        d.clique(f"{one}, {other}" if d.chance(0.7) else f"{one}[-1], {other}")


def skip(d: Draft) -> None:
    y = d.label("y", card=2)
    other = d.label("z", card=2) if d.chance(0.3) else y
    d.clique(f"{y}[-1], {y}")
    where = d.pick(["word[i] = word[j]", "lower(word)[i] = lower(word)[j]", "pos[i] = pos[j] and word[j] is not b"])
    options = d.pick(
        ["link = next", "link = all", "min_gap = 2", "link = all, max_gap = 2", "min_gap = 2, max_gap = 3"]
    )
    features = d.pick(["", ": bias, word[i]", ": word[i-1] & word[j-1]", ": bias, word[i] & pos[j]"])
    d.cliques.append(f"clique {y}[i], {other}[j] where {where} as skip with {options}{features}")


def arcs(d: Draft) -> None:
    y = d.label("y")
    d.heads = True
    features = d.pick(["", ": bias, word[i]", ": word[i] & word[j]"])
    d.cliques.append(f"clique {y}[i], {y}[j] where index[j] = head[i] as arc with order = any{features}")
    if d.chance(0.5):
        d.clique(f"{y}[-1], {y}")


def second_order(d: Draft) -> None:
    y = d.label("y", card=2)
    d.clique(f"{y}[-2], {y}[-1], {y}")
    if d.chance(0.5):
        d.clique(f"{y}[-1], {y}")


def third_order(d: Draft) -> None:
    y = d.label("y", card=2)
    d.clique(f"{y}[-3], {y}[-2], {y}[-1], {y}" if d.chance(0.5) else f"{y}[-3], {y}")


def hierarchical(d: Draft) -> None:
    lower, upper = d.label("y"), d.label("z", card=2)
    done = d.latent("done", ["no", "yes"])
    d.clique(f"{lower}[-1], {lower}")
    d.clique(f"{upper}[-1], {done}[-1], {upper}")
    d.clique(f"{upper}, {lower}, {done}")
    d.statements.append(f"require {upper} = {upper}[-1] when {done}[-1] is no")


def latent(d: Draft) -> None:
    y, h = d.label("y"), d.latent("h")
    d.clique(f"{h}, {y}" if d.chance(0.7) else f"{h}[-1], {y}")
    if d.chance(0.6):
        d.clique(f"{h}[-1], {h}")
    if d.chance(0.5):
        d.clique(f"{y}[-1], {y}")
    if d.chance(0.3):
        d.clique(h)


def counter(d: Draft) -> None:
    """Segments with a length: the label stays the same while a latent counter counts down."""
    y, left = d.label("y", card=2), d.latent("left", ["0", "1", "2"])
    d.clique(f"{y}[-1], {left}[-1], {y}")
    d.clique(f"{y}, {left}")
    d.statements += [
        f"require {y} = {y}[-1] when {left}[-1] is not 0",
        f"require {left} is 1 when {left}[-1] is 2",
        f"require {left} is 0 when {left}[-1] is 1",
    ]


def boolean_memory(d: Draft) -> None:
    y = d.label("y")
    d.clique(f"{y}[-1], {y}")
    add_boolean_memory(d, y)


def copying_memory(d: Draft) -> None:
    y = d.label("y")
    if d.chance(0.5):
        d.clique(f"{y}[-1], {y}")
    add_copying_memory(d, y)


def views(d: Draft) -> None:
    y = d.label("y", card=3)
    v = add_view(d, y)
    d.clique(v, learned=True)
    d.clique(f"{v}[-1], {v}" if d.chance(0.6) else f"{v}[-1], {y}")


def sparse(d: Draft) -> None:
    """Cliques that do not touch the variables of short sentences."""
    y, z = d.label("y", card=2), d.label("z")
    d.clique(f"{y}[-2], {z}")
    d.clique(f"{z}, {y}[1]")


def repeated(d: Draft) -> None:
    y = d.label("y")
    for _ in range(3):
        d.clique(f"{y}[-1], {y}", pad=0.4)
    d.clique(f"{y}, {y}[-1]")


FAMILIES: dict[str, Callable[[Draft], None]] = {
    "chain": chain, "factorial": factorial, "skip": skip, "second order": second_order, "hierarchical": hierarchical,
    "latent": latent, "boolean memory": boolean_memory, "copying memory": copying_memory, "views": views,
    "semi-Markov": counter, "arcs": arcs, "third order": third_order, "sparse": sparse,
    "same sites": repeated, "independent": independent,
}  # fmt: skip


# what comes on top --------------------------------------------------------------------------------------------------


def add_view(d: Draft, y: str) -> str:
    first, second = d.state_of(y), d.state_of(y)
    name = f"v{y}"
    value = d.pick([f"{y} is {first}", f"OTHER if {y} in {{{first}, {second}}} else {y}", f"prefix({y}, 1)"])
    d.statements.append(f"view {name} = {value}")
    return name


def add_boolean_memory(d: Draft, y: str) -> str:
    name, state = f"m{y}", d.state_of(y)
    value = d.pick(
        [
            f"{name}[-1] or {y}[-1] is {state}",
            f"{y}[-1] is {state} and word[-1] is a",
            f"{y}[-1] is {state} or {y}[-2] is {state}",
            f"not {y}[-1] is {state} and pos is N",
            f"{name}[-1] if word is a else {y}[-1] is not {state}",
            f"yes if {y}[-1] matches /.*[0X]/ else {name}[-1]",
            f"not {name}[-1]",
            f"not ({y}[-2] is {state}) or word[1] is b",
        ]
    )
    d.memories[name] = ("no", "yes")
    d.statements.append(f"memory {name} = {value}" + (" initially yes" if d.chance(0.2) else ""))
    d.clique(f"{y}, {name}")
    return name


def add_copying_memory(d: Draft, y: str) -> str:
    name, state, first = f"k{y}", d.state_of(y), d.state_of(y)
    value = d.pick(
        [
            f"{y}[-1] if {y}[-1] is not {state} else {name}[-1]",
            f"{y}[-2]",
            f"{y}[-1] if word[-1] is a else {name}[-1]",
            f"{name}[-1] if lower(word) = lower(word)[-1] else {y}[-1]",
            f"'{state}' if word is b else {y}[-2]",
        ]
    )
    d.memories[name] = d.labels[y]
    domain = f"states({y})" if d.chance(0.5) else f"{{{', '.join(d.labels[y])}}}"
    d.statements.append(f"memory {name} in {domain} = {value} initially {first}")
    d.clique(d.pick([f"{y}, {name}", f"{name}, {y}", f"{name}[-1], {y}"]))
    return name


def add_constraint(d: Draft) -> None:
    names = [*d.labels, *d.memories]
    y, z = d.pick(list(d.labels)), d.pick(names)
    p, q = d.state_of(y), d.state_of(z)
    text = d.pick(
        [
            f"forbid {y}[-1] is {p} and {y} is {d.state_of(y)}",
            f"forbid {y}[-1] is {p} and {z} is {q}" if y != z else f"forbid {y} is {p} and {y}[-2] is {q}",
            f"forbid {y} is {p} and not (pos[-1] is V)",
            f"forbid {y} is not {p} and word[-1] is b and pos is V",
            f"require {y} is {p} when word[-1] is b and {z}[-1] is {q}",
            f"require {y} is not {p} when {z}[-1] is not {q} or pos[1] is N" if y != z else f"forbid {y} is {p}",
            f"require {y} = {y}[-1] when word = word[-1]",
            f"require {y} in {{{p}, {d.state_of(y)}}} when not (word[-1] is a)",
            f"forbid {y}[-1] is {p} and {y}[1] is {d.state_of(y)} and pos is N",
        ]
    )
    d.statements.append(text)


def draft(rng: np.random.Generator, family: str) -> Draft:
    d = Draft(rng)
    FAMILIES[family](d)
    names = list(d.labels)
    if len(names) < 3 and d.chance(0.2):
        name = d.label("w", card=2)
        d.clique(f"{name}, {d.pick(names)}" if d.chance(0.7) else name)
    if not d.latents and d.chance(0.2):
        d.clique(f"{d.latent('h', ['A', 'B'])}, {d.pick(names)}")
        if d.chance(0.5):
            d.clique("h[-1], h")
    if d.chance(0.2) and not any(name.startswith("m") for name in d.memories):
        add_boolean_memory(d, d.pick(names))
    if d.chance(0.15) and not d.memories:
        add_copying_memory(d, d.pick(names))
    if family != "views" and d.chance(0.2):
        y = d.pick(names)
        add_view(d, y)
        d.clique(d.pick([f"v{y}", f"v{y}[-1], v{y}", f"{y}[-1], v{y}"]))
    while d.chance(0.45):
        add_constraint(d)
    for name in d.labels:
        if d.chance(0.35):
            d.unknown[name] = d.pick(["missing", "ambiguous", "missing ambiguous"])
        if d.chance(0.2) and not any(name in statement for statement in d.statements):
            d.domains[name] = ""  # learned
    return d


# sentences and gold -------------------------------------------------------------------------------------------------


def draw(seed: int) -> RandomCase:
    """The case of this number; families take turns."""
    rng = np.random.default_rng(seed)
    family = list(FAMILIES)[seed % len(FAMILIES)]
    while True:
        d = draft(rng, family)
        try:
            spec = load_text(d.text()).require()
        except DcrfError:
            continue
        if any(diagnostic.severity == "error" for diagnostic in check(load_text(d.text()))):
            continue
        case = RandomCase(family, d.text(), [], [], [])
        twin = TemplateTwin(spec, {**d.labels, **d.latents, **d.memories}, {})
        lengths = [length for length in (1, 2, 3, 4) if enumerable(twin.states, length, len(d.memories))]
        for length in (1, lengths[-1], d.rng.choice(lengths)):
            add_sentence(case, d, twin, int(length))
        if len(case.rows) > 1:
            return case


def enumerable(states: Mapping[str, Sequence[str]], length: int, memories: int) -> bool:
    cards = [len(label_states) for label_states in states.values()]
    free = float(np.prod(cards[: len(cards) - memories]))
    return free**length <= MOST_LABELLINGS and float(np.prod(cards)) ** length <= MOST_ENTRIES


def add_sentence(case: RandomCase, d: Draft, twin: TemplateTwin, length: int) -> None:
    """Adds a random sentence with one of its possible labellings as gold, or nothing if no labelling is possible."""
    table: dict[str, list[str]] = {
        "word": [d.pick("aabA") for _ in range(length)],
        "pos": [d.pick("NV") for _ in range(length)],
        "size": [d.pick(["-1", "0", "0.5", "2"]) for _ in range(length)],
    }
    if d.heads:
        table["head"] = [str(d.rng.integers(0, length + 1)) for _ in range(length)]
    sentence = {**table, "size": [float(value) for value in table["size"]]}
    possible = list(twin.possible(sentence))
    if not possible:
        return
    gold = possible[int(d.rng.integers(len(possible)))]
    cells, known = dict(table), {}
    for name in d.labels:
        read = [cell(d, name, state) for state in gold[name]]
        cells[name], known[name] = [text for text, _ in read], [states for _, states in read]
    case.rows.append(list(zip(*cells.values(), strict=True)))
    case.tables.append(sentence)
    case.known.append(known)


def cell(d: Draft, name: str, state: str) -> tuple[str, frozenset[str]]:
    """The cell of a gold state, and the states that the cell allows."""
    states, unknown = d.labels[name], d.unknown.get(name, "")
    if "missing" in unknown and d.chance(0.3):
        return "_", frozenset(states)
    if "ambiguous" in unknown and d.chance(0.4):
        other = d.pick([*states, "_"] if "missing" in unknown else states)
        text = "|".join([state, other] if d.chance(0.5) else [other, state])
        return text, frozenset(states) if other == "_" else frozenset({state, other})
    return state, frozenset({state})
