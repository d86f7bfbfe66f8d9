"""The text of a converted template: header, data, groups, cliques and settings, in the canonical layout.

Not here: which features there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..foundation import printable
from ..syntax import format_template, parse
from .pattern_features import Feature

LONG_LIST = 60  # characters of features on the line of a statement


@dataclass(frozen=True)
class Clique:
    """A statement with a list: `clique tag as unigrams with states = all`, and its features as texts."""

    head: str
    features: tuple[str, ...] = ()

    def text(self) -> str:
        if not self.features:
            return f"{self.head}\n"
        listed = ", ".join(self.features)
        if len(listed) <= LONG_LIST:
            return f"{self.head}: {listed}\n"
        return "".join([f"{self.head}:\n", *(f"    {feature}\n" for feature in self.features)])


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


def template_text(headline: str, statements: Sequence[Sequence[str]], left_out: Iterable[str] = ()) -> str:
    """A template: its doc comment, the lines that could not be converted as comments, and blocks of statements."""
    left = [f"#   {printable(line)}\n" for line in left_out]
    blocks = ["".join(block) for block in statements if block]
    comment = "".join(["# Not converted:\n", *left]) if left else ""
    text = f"dcrf 1\n## {printable(headline)}\n\n" + "\n".join([*([comment] if comment else []), *blocks])
    return format_template(parse(text, "<converted>"))
