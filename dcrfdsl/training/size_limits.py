"""What a model will take, before it is built: bytes of tables, weights and joined pairs, statement by statement.

    specification, states -> sizes of its statements -> a refusal that names those that multiply, or a warning

The figures are upper estimates from the states of each site alone, so they cost nothing. A model that would not fit
into the memory that is left is refused; one of more than `WORTH_SAYING` bytes is said. What exceeds the memory later on
is told by the same statements (`naming_statements`). Not here: time and work (`graph.model_cost`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal, NamedTuple

from .. import semantics
from ..features import Pairs, view_label
from ..foundation import DcrfError, Diagnostic, memory_left
from ..graph import order_cost
from ..syntax import Apply, CliqueSpec, Constraint, Once, Runs, label_at, statement_text

CELL_BYTES = 100  # of an entry of a table, with what is kept beside it in training; measured
WEIGHT_BYTES = 300  # of a weight, with the memory of an optimizer
PAIR_BYTES = 400  # of a pair of positions that data joins: a factor of its own; measured
PAIR_SECONDS = 2e-5  # to lay one out
WORTH_SAYING = 10**9  # bytes of which a warning speaks before anything is built …
WORTH_WAITING = 10.0  # … and seconds
MOST_BYTES = 2**36  # where the system does not say how much memory is left
MOST_NAMED = 4  # statements in a message
LONGEST_TEXT = 60  # characters of a statement in a message
LONGEST_SAMPLE = 64  # positions of the graph on which statements are compared

NAMED_FOR = ("too-wide", "out-of-memory", "reads-too-much")  # errors that get the places of statements

States = Mapping[str, Sequence[str]]
Site = tuple[str, int]  # variable, offset


class StatementSize(NamedTuple):
    """sites: those of its table; for pairs that data joins, two of them, far apart.

    cards: the states of each site.   size: bytes.   words: how the size comes about.   remedy: how it gets smaller.
    seconds: to lay it out, before any training.
    """

    statement: CliqueSpec | Constraint | Once | Runs
    sites: tuple[Site, ...]
    cards: tuple[int, ...]
    size: float
    words: str
    remedy: str
    seconds: float = 0.0


def statement_sizes(
    spec: semantics.ModelSpec,
    states: States,
    relations: Mapping[int, Pairs] | None = None,
    features: Sequence[int] = (),
) -> list[StatementSize]:
    """The statements of a specification with what their tables, weights and pairs take, in their order.

    states: of every declared variable.   relations: the pairs of relational cliques, by their number.   features: of
    each clique.
    """
    memory = semantics.segment_memory(spec)
    runs = 0 if memory is None else len(semantics.segment_states(memory, states[memory.label]).names)
    counts = {
        one.label: len(semantics.run_states(one, states[one.label]).names) for one in semantics.run_memories(spec)
    }
    tables = not _pruned(spec)  # pruned inference writes out no table of several positions
    found = []
    for number, clique in enumerate(spec.cliques):
        labels = [_label_of(spec, site.variable) for site in clique.sites]
        if clique.segmental:
            if memory is not None:
                words = f"{_by(runs, runs)}: how far segments have come at two neighbours"
                found.append(
                    StatementSize(
                        clique, ((memory.name, -1), (memory.name, 0)), (runs, runs),
                        CELL_BYTES * float(runs) ** 2, words, "allow shorter segments (`up to`)",
                    )
                )  # fmt: skip
            continue
        shifts = [semantics.shift_of_site(site.place) for site in clique.sites]
        sites = tuple(zip(labels, shifts, strict=True))
        weighed = tuple(len(states[name]) + 2 * (clique.edges == "pad") for name in labels)
        lifted = memory is not None and not clique.relational and max(shifts) - min(shifts) == 1
        moves = lifted and memory is not None and set(labels) == {memory.label}  # in the table of the memory's moves
        cards = tuple(
            runs if lifted and memory is not None and name == memory.label else card
            for name, card in zip(labels, weighed, strict=True)
        )
        cells = math.prod(map(float, cards)) if (tables or len(cards) == 1) and not moves else 0.0
        has = features[number] if number < len(features) else 0
        only_bias = all(isinstance(one, Apply) and one.function == "bias" for one in clique.features)
        everything = (clique.states or ("all" if only_bias else "seen")) == "all"
        weights = math.prod(map(float, weighed)) * (1 + has) if everything and tables else 0.0
        size, words = CELL_BYTES * cells + WEIGHT_BYTES * weights, _by(*cards)
        if weights * WEIGHT_BYTES > CELL_BYTES * cells and has:
            words = f"{_by(*weighed)}, for each of {has:,} features"
        remedy = "join fewer positions or states, or write `with states = seen`, so that only what is seen has weights"
        seconds = 0.0
        if clique.relational:
            sites = tuple((name, 1000 * place) for place, name in enumerate(labels))  # wherever the data says
            pairs = (relations or {}).get(number)
            seconds = PAIR_SECONDS * (0 if pairs is None else len(pairs.first))
            if pairs is not None and len(pairs.first) * PAIR_BYTES > size:
                size, words = float(len(pairs.first) * PAIR_BYTES), f"joins {len(pairs.first):,} pairs of positions"
                remedy = "join fewer: `link = next`, a `max_gap`, or a condition that fewer positions share"
        found.append(StatementSize(clique, sites, cards, size, words, remedy, seconds))
    for constraint in spec.constraints:
        read = semantics.constraint_sites(spec, constraint)
        cards = tuple(len(states[name]) for name, _ in read)
        cells = CELL_BYTES * math.prod(map(float, cards))
        remedy = "write several conditions that read fewer variables each"
        found.append(StatementSize(constraint, read, cards, cells, _by(*cards), remedy))
    for variable, card in counts.items():
        own, name = next(one for one in spec.runs if one.variable == variable), f"runs of {variable}"
        words = f"{_by(card, card)}: how far runs have come at two neighbours"
        remedy = "allow runs of any length, or up to fewer tokens"
        size = CELL_BYTES * float(card) ** 2
        found.append(StatementSize(own, ((name, -1), (name, 0)), (card, card), size, words, remedy))
    return [*found, *_once_sizes(spec, states, runs)]


def _once_sizes(spec: semantics.ModelSpec, states: States, runs: int) -> Iterator[StatementSize]:
    """The memories that `once` stands for: a table over two neighbours for each type."""
    if not spec.onces:
        return
    label = spec.onces[0].label
    memories = [one for one in semantics.unrolled_spec(spec, states)[0].memories if semantics.is_implied(one.name)]
    types = len(memories) - bool(runs)
    card = runs or len(states[label])
    name = memories[-1].name if runs and memories else label
    if types > 0:
        words = f"{types:,} × {_by(2, card, card)}: a memory for each type"
        size = CELL_BYTES * 2.0 * card * card * types
        remedy = f"name what may come again, as in `once {label} except {{A, B}}`"
        yield StatementSize(spec.onces[0], ((name, -1), (name, 0), ("once", 0)), (card, card, 2**types), size, words,
                            remedy)  # fmt: skip


def _pruned(spec: semantics.ModelSpec) -> bool:
    """Whether inference is pruned in all stages and in tagging."""
    names: list[str | None] = [one.label for one in spec.stages] or [None]
    asked = [semantics.stage_settings(spec, name).infer or semantics.inference_settings(spec) for name in names]
    return all(isinstance(one, semantics.PrunedSettings) for one in (*asked, semantics.inference_settings(spec)))


def _label_of(spec: semantics.ModelSpec, name: str) -> str:
    """The variable behind a name, which may be a view."""
    view = spec.views_by_name.get(name)
    return name if view is None else view_label(spec, view) or name


def _by(*cards: int) -> str:
    product = math.prod(map(float, cards))
    shown = f"{product:,.0f}" if product < 1e15 else f"{product:.2g}"
    if len(cards) < 2:
        return shown
    powers = []
    for card, equal in itertools.groupby(cards):
        count = len(list(equal))
        powers.append(f"{card:,}^{count}" if count > 3 else " × ".join([f"{card:,}"] * count))
    return f"{' × '.join(powers)} states, {shown} entries"


def refuse_too_large(
    spec: semantics.ModelSpec,
    states: States,
    relations: Mapping[int, Pairs] | None = None,
    features: Sequence[int] = (),
    remark: Callable[[Diagnostic], None] | None = None,
) -> None:
    """DcrfError where a model would not fit into the memory that is left; `remark` is told of what takes very much."""
    for one in too_large(statement_sizes(spec, states, relations, features)):
        if one.severity == "error":
            raise DcrfError(one)
        if remark is not None:
            remark(one)


def too_large(sizes: Sequence[StatementSize]) -> list[Diagnostic]:
    """The error or the warning about the statements of a model, if it takes that much."""
    total, left = sum(one.size for one in sizes), memory_left()
    seconds = sum(one.seconds for one in sizes)
    if total <= min(WORTH_SAYING, left or MOST_BYTES) and seconds <= WORTH_WAITING:
        return []
    most = sorted(sizes, key=lambda one: -one.size)
    most = [one for one in most[:MOST_NAMED] if one.size >= total / 20]
    refused = total > (left or MOST_BYTES)
    waiting = f" and {seconds:,.0f} s before training begins" * (seconds > WORTH_WAITING)
    message = f"this model would take about {_gigabytes(total)} of memory{waiting}: {_listed(most)}"
    if refused and left is not None:
        message += f"; {_gigabytes(left)} are left"
    severity: Literal["error", "warning"] = "error" if refused else "warning"
    return [_complaint("too-large", message, most, most[0].remedy, severity)]


def _complaint(
    slug: str, message: str, parts: Sequence[StatementSize], remedy: str, severity: Literal["error", "warning"]
) -> Diagnostic:
    places = (label_at(one.statement, one.words) for one in parts)
    labels = tuple(label for label in places if label is not None)
    return Diagnostic(slug, message, labels[0] if labels else None, labels[1:], remedy, severity)


def _listed(parts: Sequence[StatementSize]) -> str:
    return "; ".join(f"{_statement(one.statement)} ({one.words})" for one in parts)


def _statement(item: CliqueSpec | Constraint | Once | Runs) -> str:
    if isinstance(item, CliqueSpec):
        return f"`segment {item.sites[0].variable}`" if item.segmental else f"`clique {item.label}`"
    text = statement_text(item)
    return f"`{text}`" if len(text) <= LONGEST_TEXT else f"`{text[:LONGEST_TEXT]} …`"


def _gigabytes(size: float) -> str:
    return f"{size / 1e9:,.1f} GB" if size < 1e15 else f"{size / 1e9:.1g} GB"


@contextmanager
def naming_statements(spec: semantics.ModelSpec, states: States | None) -> Iterator[None]:
    """Errors about tables or memory that come from within get the places of the statements that multiply."""
    try:
        yield
    except MemoryError:
        message = "the computation needs more memory than there is"
        raise DcrfError(_named(spec, states, Diagnostic("out-of-memory", message))) from None
    except DcrfError as error:
        known = [_named(spec, states, one) for one in error.diagnostics]
        if known == list(error.diagnostics):
            raise
        raise DcrfError(known) from None


def _named(spec: semantics.ModelSpec, states: States | None, one: Diagnostic) -> Diagnostic:
    """A diagnostic about tables or memory, if it has no place yet, with the statements that make tables large."""
    if one.slug not in NAMED_FOR or one.primary is not None or one.location is not None:
        return one
    if states is None or any(name not in states for name in (label.name for label in spec.labels)):
        return one
    sizes = statement_sizes(spec, states)
    if one.slug == "reads-too-much":
        constraints = (part for part in sizes if isinstance(part.statement, Constraint))
        parts = sorted(constraints, key=lambda part: -part.size)[:1]
    else:
        parts = multiplying(sizes)
    if not parts:
        return one
    message = f"{one.message}. What multiplies: {_listed(parts)}"
    return _complaint(one.slug, message, parts, one.help or parts[0].remedy, "error")


def multiplying(sizes: Sequence[StatementSize]) -> list[StatementSize]:
    """The statements without which the largest table of exact inference would be smaller, by their effect."""
    wide = [one for one in sizes if len(one.sites) > 1]
    whole = _largest(wide)
    effects = [(whole / _largest([other for other in wide if other is not one]), one) for one in wide]
    strong = [one for effect, one in sorted(effects, key=lambda pair: -pair[0]) if effect > 1.5]
    return (strong or sorted(wide, key=lambda one: -math.prod(map(float, one.cards))))[:MOST_NAMED]


def _largest(sizes: Sequence[StatementSize]) -> float:
    """The entries of the largest table that elimination from left to right makes, on a few positions."""
    cards = {name: card for one in sizes for (name, _), card in zip(one.sites, one.cards, strict=True)}
    names = sorted(cards, key=lambda name: -cards[name])
    offsets = [offset for one in sizes for _, offset in one.sites]
    span = min(max(offsets, default=0) - min(offsets, default=0), LONGEST_SAMPLE)
    length = 2 * span + 3
    scopes = [
        [names.index(name) + (anchor + offset) * len(names) for name, offset in one.sites]
        for one in sizes
        for anchor in range(length)
        if all(0 <= anchor + offset < length for _, offset in one.sites)
    ]
    return order_cost(scopes, [cards[name] for name in names] * length, range(length * len(names))).largest
