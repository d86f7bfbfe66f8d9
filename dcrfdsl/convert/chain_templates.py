"""Linear chains from the patterns of CRF++ and Wapiti: which patterns share strings, and what stands in which clique.

Both tools give every string that a pattern makes a weight for each label (`U`) or pair of labels (`B`), seen together
or not: `states = all` here. Not here: what one pattern is (`foreign_patterns`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..foundation import DcrfError, Diagnostic, Source, dataclass
from .foreign_patterns import (
    CRFPP,
    WAPITI,
    Dialect,
    Feature,
    ForeignPattern,
    PatternFeatures,
    features_of,
    read_patterns,
    remark,
)
from .template_text import Columns, chain_columns, fresh_name, listed_statement, template_text

FEWEST_SHARED = 4  # features of both cliques that get a group of their own
TRAINING: Mapping[str, str] = {
    CRFPP.tool: "# The default of crf_learn, `-c 1`; the number stays the same.\n"
    "train likelihood: prior = gaussian(variance = 1)\n",
    WAPITI.tool: "# The defaults of `wapiti train`, `-1 0.5 -2 0.0001`; l2 is half of `-2`.\n"
    "train likelihood: prior = elastic_net(l1 = 0.5, l2 = 0.00005)\n",
}


@dataclass(frozen=True)
class _Converted:
    pattern: ForeignPattern
    found: PatternFeatures


def chain_template(
    source: Source, dialect: Dialect, names: Sequence[str] | None, label: str | None, data_columns: int | None
) -> tuple[str, list[Diagnostic]]:
    """The template, and messages about lines that are left out or count differently, in the order of the file."""
    patterns, remarks = read_patterns(source, dialect)
    highest = max((macro.column for pattern in patterns for macro in pattern.macros), default=0)
    columns, made_up = chain_columns(names, label, data_columns, min(highest, 100))
    converted: list[_Converted] = []
    for pattern in patterns:
        try:
            found = features_of(pattern, columns)
        except DcrfError as error:
            remarks += error.diagnostics
            continue
        converted.append(_Converted(pattern, found))
        remarks.extend(found.remarks)
    if not converted:
        nothing = Diagnostic("nothing-converted", f"`{source.name}` has no line that can be converted")
        raise DcrfError([*remarks, nothing])
    distinct, repeated = _without_repetitions(converted, dialect)
    remarks.extend(repeated)
    remarks.extend(_sharing(distinct, dialect))
    remarks.extend(_counted_at_the_start(distinct, dialect))
    remarks.sort(key=lambda item: item.primary.span.start if item.primary else -1)
    left_out = [_line(item) for item in remarks if item.severity == "error"]
    if made_up is not None:
        remarks.insert(0, made_up)
    statements = [
        (f"data conll({', '.join(columns.names)})\n", f"label {columns.label}\n"),
        *_cliques(distinct, columns),
        (TRAINING[dialect.tool],),
    ]
    headline = f"Converted from a template of {dialect.tool} by `dcrfdsl convert`."
    return template_text(headline, statements, left_out), remarks


def _line(item: Diagnostic) -> str:
    assert item.primary is not None
    span = item.primary.span
    return f"line {span.line}: {span.source.line(span.line).strip()}"


# lines that are alike -------------------------------------------------------------------------------------------------


def _without_repetitions(
    converted: Iterable[_Converted], dialect: Dialect
) -> tuple[list[_Converted], list[Diagnostic]]:
    """The lines that differ, and a warning for each that stands there once more."""
    first: dict[str, _Converted] = {}
    remarks = []
    for item in converted:
        before = first.setdefault(_folded(item.pattern.span.text, dialect), item)
        if before is not item:
            line = before.pattern.span.line
            message = f"line {line} again: {dialect.tool} counts its features twice with one weight, the template once"
            remarks.append(remark("converts-differently", item.pattern.span, message, severity="warning"))
    return list(first.values()), remarks


def _folded(text: str, dialect: Dialect) -> str:
    """The text with its first letter as the tool sees it."""
    return text[0].lower() + text[1:] if dialect.fold_kinds else text


def _sharing(converted: Iterable[_Converted], dialect: Dialect) -> list[Diagnostic]:
    """A warning for each line whose strings can be those of an earlier line."""
    first: dict[tuple[str, ...], ForeignPattern] = {}
    remarks = []
    for item in converted:
        pattern = item.pattern
        if not pattern.macros:
            continue
        spelling, *others = pattern.identity
        before = first.setdefault((_folded(spelling, dialect), *others), pattern)
        if before is not pattern:
            message = (
                f"this has the identifier of line {before.span.line}, so {dialect.tool} gives equal strings of both "
                "one weight; in the template each has weights of its own"
            )
            help = "a column of type `bag` has one weight for a value, wherever it comes from"
            remarks.append(remark("converts-differently", pattern.span, message, severity="warning", help=help))
    return remarks


def _counted_at_the_start(converted: Iterable[_Converted], dialect: Dialect) -> list[Diagnostic]:
    """A note that CRF++ has no weights of pairs for strings at first tokens, where there is no pair; Wapiti has."""
    first = next((item.pattern for item in converted if item.pattern.pair and item.pattern.macros), None)
    if first is None or dialect is not CRFPP:
        return []
    message = (
        "the template also counts weights of pairs for values at first tokens, which are never used; CRF++ has none"
    )
    return [remark("converts-differently", first.span, message, severity="note")]


# cliques --------------------------------------------------------------------------------------------------------------


class _Group(NamedTuple):
    name: str
    members: frozenset[Feature]
    listed: tuple[str, ...]


def _cliques(converted: Sequence[_Converted], columns: Columns) -> list[list[str]]:
    """The blocks of statements: groups of features, then the cliques of labels and of pairs."""
    taken = set(columns.names)
    inside = frozenset(feature for item in converted for feature in item.found.inside)
    labels = _layers(item.found.features for item in converted if item.pattern.label)
    pairs = _layers(item.found.features for item in converted if item.pattern.pair)
    groups: list[_Group] = []
    if labels and pairs:
        both = [feature for feature in labels[0] if feature and feature in pairs[0] and feature not in inside]
        if len(both) >= FEWEST_SHARED:
            groups.append(_Group(fresh_name("shared", taken), frozenset(both), feature_list(both)))
    blocks = [[listed_statement(f"features {group.name}", group.listed)] for group in groups]
    cliques: list[str] = []
    for wanted, sites, layers in (
        ("unigrams", columns.label, labels),
        ("bigrams", f"{columns.label}[-1], {columns.label}", pairs),
    ):
        for features in layers:
            there = list(groups)
            kept_in = [feature for feature in features if feature in inside]
            if kept_in:
                there.append(_Group(fresh_name("inside", taken), frozenset(kept_in), feature_list(kept_in)))
                blocks.append([listed_statement(f"features {there[-1].name} with outside = skip", there[-1].listed)])
            head = f"clique {sites} as {fresh_name(wanted, taken)} with states = all"
            cliques.append(listed_statement(head, _with_groups(features, there)))
    return [*blocks, cliques]


def _layers(patterns: Iterable[Sequence[Feature]]) -> list[tuple[Feature, ...]]:
    """The features of all patterns; those that are there already under another identifier go into a further layer."""
    layers: list[dict[Feature, None]] = []
    free: dict[frozenset[str], int] = {}  # the first layer behind those that have a feature
    for features in patterns:
        keys = {frozenset(factor.text for factor in feature) for feature in features}
        layer = max(free.get(key, 0) for key in keys)
        if layer == len(layers):
            layers.append({})
        layers[layer].update(dict.fromkeys(features))
        free.update(dict.fromkeys(keys, layer + 1))
    return [tuple(layer) for layer in layers]


def _with_groups(features: Sequence[Feature], groups: Iterable[_Group]) -> tuple[str, ...]:
    """The features as texts, with the names of the groups that they fill; `bias` first."""
    filled = [group for group in groups if group.members <= set(features)]
    grouped = frozenset[Feature]().union(*(group.members for group in filled))
    rest = [feature for feature in features if feature not in grouped]
    listed = feature_list(sorted(rest, key=bool))
    bias = listed[:1] if listed[:1] == ("bias",) else ()
    return (*bias, *(group.name for group in filled), *listed[len(bias) :])


def feature_list(features: Iterable[Feature]) -> tuple[str, ...]:
    """The features as texts; values of one term at several places are joined, `word[-2..2]`."""
    places: dict[str, list[int]] = {}
    texts: dict[str, None] = {}
    for feature in features:
        if len(feature) == 1 and feature[0].term:
            places.setdefault(feature[0].term, []).append(feature[0].offset)
            texts.setdefault(feature[0].term)
        else:
            texts.setdefault(" & ".join(factor.text for factor in feature) or "bias")
    return tuple(f"{text}{_place(places[text])}" if text in places else text for text in texts)


def _place(offsets: Sequence[int]) -> str:
    """`[-2..2]`, `[-1, 1]`, `[1]`, or nothing for 0."""
    there = sorted(set(offsets))
    if there == [0]:
        return ""
    if len(there) > 1 and there[-1] - there[0] == len(there) - 1:
        return f"[{there[0]}..{there[-1]}]"
    return f"[{', '.join(map(str, there))}]"
