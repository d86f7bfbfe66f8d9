"""The terms in the list of a `segment` statement, and all problems inside them.

Not here: rules on the statement as a whole (`segment_rules`).
"""

from __future__ import annotations

from ..schema import LENGTH, SEGMENT_FUNCTIONS, Apply, Path, Reference, place_offset
from .context import COLUMN
from .term_rules import TermReader, TermType

_KINDS = {"texts": "a bag of texts"}


class SegmentTermReader(TermReader):
    """Reads the list of a `segment` statement: `length`, and columns inside of `first`, `last`, `any` or `joined`."""

    def reference(self, reference: Reference, path: Path, *, in_list: bool = False) -> TermType:
        name, at = reference.name, (*path, "name")
        if name == LENGTH and place_offset(reference.place) == 0:
            return "text"
        if name == "bias" and in_list:
            return "test"
        column = self.context.named(name, COLUMN) is not None or self.context.named(name, "feature group") is not None
        if column or name in ("first", "last", "index"):
            what = f"`{name}` is read at one token, and a segment has several"
            ways = "`joined(word)` for all of them, `any(word)`, `first(word)` and `last(word)` for one"
            self.complain("token-in-segment", what, at, "at which token?", f"columns are read by {ways}")
            return "anything"
        return super().reference(reference, path, in_list=in_list)

    def apply(self, term: Apply, path: Path) -> TermType:
        if term.function not in SEGMENT_FUNCTIONS:
            return super().apply(term, path)
        value, at = (term.arguments[0].value if len(term.arguments) == 1 else None), (*path, "arguments", 0, "value")
        usage = f"write `{term.function}(COLUMN)`; functions go around it, as in `lower({term.function}(word))`"
        if not isinstance(value, Reference):
            message = f"`{term.function}` takes a column of texts"
            self.complain("bad-argument", message, (*path, "function"), "of a segment", usage)
            return "anything"
        inner = TermReader.reference(self, value, at)
        if inner not in ("text", "anything"):
            message = f"`{term.function}` reads one text at each token, and this is {_KINDS.get(inner, f'a {inner}')}"
            self.complain("not-a-text", message, at, _KINDS.get(inner, f"a {inner}"), usage)
            return "anything"
        if term.function in ("any", "joined") and place_offset(value.place) != 0:
            message = f"`{term.function}` reads the tokens of the segment, and not those beside it"
            remedy = "`first(word[-1])` is the token before the segment, `last(word[1])` the one after it"
            self.complain("bad-argument", message, at, "a place beside", remedy)
        return "texts" if term.function == "any" and inner == "text" else inner
