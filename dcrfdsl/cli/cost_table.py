"""The cost table of `dcrfdsl check`: what a template alone tells.

Without data the engine is not loaded; the table then shows what the declared states determine, and `?` for the rest.
Not here: what data tells (`trained_costs`), rules on templates (`semantics.checks.checker`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from .probabilities import decode_words
from .report import print_table

if TYPE_CHECKING:
    from ..foundation import Block
    from ..semantics import CliqueSpec, ModelSpec, Resolved

UNKNOWN = "?"
MOST_ROWS = 200  # cliques that are listed
HEADINGS = ("clique", "states", "table", "weights")


@dataclass(frozen=True)
class CostTable:
    """The rows of the table. cliques: name, states of the sites, table entries, weights.   totals: name and text."""

    cliques: Sequence[tuple[str, str, str, str]]
    totals: Sequence[tuple[str, str]]

    def __str__(self) -> str:
        width = max((len(name) for name, _ in self.totals), default=0)
        rows = [f"{name}: {states} states, {entries} entries, {weights} weights" for name, states, entries, weights in
                self.cliques[:MOST_ROWS]]  # fmt: skip
        return "\n".join([*rows, *self._more(), *(f"{name:<{width}}  {words}" for name, words in self.totals)])

    def _more(self) -> list[str]:
        more = len(self.cliques) - MOST_ROWS
        return [f"… and {more:,} more cliques"] if more > 0 else []

    def blocks(self) -> list[Block]:
        """The table for notebooks."""
        from ..foundation import Paragraph, TextTable

        return [
            TextTable("What the cliques cost", HEADINGS, self.cliques[:MOST_ROWS]),
            *(Paragraph(line, kind="note") for line in self._more()),
            TextTable("What the model costs", ["what", "value"], self.totals, (0, 1)),
        ]

    def print(self) -> None:
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column(HEADINGS[0], overflow="fold")
        for heading in HEADINGS[1:]:
            table.add_column(heading, justify="right")
        for row in self.cliques[:MOST_ROWS]:
            table.add_row(*map(Text, row))
        print_table(table)
        for line in self._more():
            print(line)
        print()
        width = max(len(name) for name, _ in self.totals)
        for name, words in self.totals:
            print(f"{name:<{width}}  {words}")


# without data -----------------------------------------------------------------------------------------------------


def declared_costs(resolved: Resolved, stage: str | None) -> CostTable:
    """The table without data: what the declared states determine."""
    from ..data import declared_states

    spec = resolved.spec  # checked
    states = declared_states(spec, resolved.directories)
    counts = {name: None if listed is None else len(listed) for name, listed in states.items()}
    counts |= _view_counts(spec, states)
    rows = [(clique.label, *table_words(spec, clique, counts, states), UNKNOWN) for clique in spec.cliques]
    sweeps = [_entries(clique, counts) for clique in spec.cliques if len(clique.sites) > 1]
    work = sum(len(clique.sites) * (_entries(clique, counts) or 0) for clique in spec.cliques if len(clique.sites) > 1)
    unknown = ", ".join(f"`{name}`" for name, count in counts.items() if count is None)
    totals = [("one sweep", UNKNOWN if None in sweeps else work_words(work))]
    totals += [(name, UNKNOWN) for name in ("exact", "weights", "memory", "time")]
    totals += decoding_rows(spec, stage)
    known = {name: listed for name, listed in states.items() if listed is not None}
    if len(known) == len(states):
        totals += [*segment_rows(spec, known), *once_rows(spec, known)]
    if unknown:
        totals.append(("?", f"the states of {unknown} are learned; give training data with `--data FILE`"))
    else:
        totals.append(("?", "depends on data; give training data with `--data FILE`"))
    return CostTable(rows, totals)


def _view_counts(spec: ModelSpec, states: Mapping[str, Sequence[str] | None]) -> dict[str, int]:
    """How many states the views of cliques have, where those of their label are declared."""
    used = {site.variable for clique in spec.cliques for site in clique.sites}
    views = [view for view in spec.views if view.name in used]
    if not views:
        return {}
    from ..features import view_label, view_map  # loads the engine

    labels = {view.name: states.get(view_label(spec, view)) for view in views}
    return {view.name: len(view_map(spec, view, listed).states) for view in views if (listed := labels[view.name])}


def decoding_rows(spec: ModelSpec, stage: str | None) -> list[tuple[str, str]]:
    """The row of the decoding rule, if it follows from the criterion because the template names none."""
    from ..semantics import decode_rule

    rule = decode_rule(spec, stage)
    return [] if rule.trained is None else [("decoding", decode_words(rule.name, rule.trained))]


def once_rows(spec: ModelSpec, states: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """How the model keeps to `once`, if it has one."""
    from ..semantics import once_words

    return [("once", once_words(spec, states))] if spec.onces else []


def _cards(clique: CliqueSpec, counts: Mapping[str, int | None]) -> list[int | None]:
    """States of each site, with START and STOP where they are used; None if they are learned from data."""
    beyond = 2 if clique.edges == "pad" else 0
    declared = [counts.get(site.variable) for site in clique.sites]
    return [None if count is None else count + beyond for count in declared]


def _entries(clique: CliqueSpec, counts: Mapping[str, int | None]) -> int | None:
    cards = _cards(clique, counts)
    known = [card for card in cards if card is not None]
    return math.prod(known) if len(known) == len(cards) else None


def table_words(
    spec: ModelSpec, clique: CliqueSpec, counts: Mapping[str, int | None], states: Mapping[str, Sequence[str] | None]
) -> tuple[str, str]:
    """The states and the table of a clique; of segments their types and tokens. states: None where data tells them."""
    from ..semantics import longest_segment, segment_classes

    if clique.segmental:
        label = spec.labels_by_name[clique.sites[0].variable]
        listed = states.get(label.name)
        types = (
            UNKNOWN if listed is None else f"{sum(bool(one.name) for one in segment_classes(label.domain, listed)):,}"
        )
        return f"{types} × {longest_segment(spec, clique)} tokens", "none"
    cards, entries = _cards(clique, counts), _entries(clique, counts)
    words = " × ".join(
        f"{UNKNOWN} {site.variable}" if card is None else str(card)
        for site, card in zip(clique.sites, cards, strict=True)
    )
    return words, UNKNOWN if entries is None else f"{entries:,}"


def segment_rows(spec: ModelSpec, states: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """The states of the memory that stands for segments in the graph; nothing without a `segment` statement."""
    from ..semantics import segment_memory, segment_states

    memory = segment_memory(spec)
    if memory is None:
        return []
    size = len(segment_states(memory, states[memory.label]).names)
    return [("segments", f"{size:,} states of a token, how far its segment has come")]


def work_words(multiply_adds: float) -> str:
    return f"{multiply_adds:,.0f} multiply-adds a token"
