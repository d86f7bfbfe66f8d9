"""The ways to decode: how labels are read off a model, and the settings of those that search for bounds.

A rule travels as text, `optimal(nodes = 500)`, in stages, records and calls of Python; settings that are left out have
their defaults. Not here: which rule a stage has (`implied_settings`), decoding itself.
"""

from __future__ import annotations

import re

from pydantic import ValidationError

from ...foundation import DcrfError, Diagnostic, Table, spelling_remedy
from .method_settings import MethodSettings, setting


class JointDecoding(MethodSettings):
    """The best labelling of a sentence as a whole."""

    method = "joint"
    example = "decode joint"


class MarginalDecoding(MethodSettings):
    """The likeliest state of each label by itself; on a tie the first declared. It repairs no segments."""

    method = "marginal"
    example = "decode marginal"


class LocalDecoding(MethodSettings):
    """The best product of locally normalised pieces, which is what `memm` and its like train for."""

    method = "local"
    example = "train memm\ndecode local"


class BoundingDecoding(MethodSettings):
    """Base of decoding with an upper bound on what any labelling scores."""

    iterations: int = setting(200, "passes there and back that lower the bound of a sentence, at most",
                              unit="iterations", ge=1, le=1_000_000)  # fmt: skip

    @property
    def most_nodes(self) -> int:
        """How many nodes the search of a sentence may have; 1 is the bound alone."""
        return 1


class CertifiedDecoding(BoundingDecoding):
    """As `joint`, with an upper bound on what any labelling of the sentence scores, by tree-reweighted message passing.
    Where the labels found score as much, they are proven to be the best; `tag` and `eval` say on how many sentences.
    """

    method = "certified"
    source = "Kolmogorov 2006, 2015; Sontag, Globerson & Jaakkola 2011"
    example = "infer trp\ndecode certified(iterations = 500)"
    written_out = "infer trp\ndecode certified(iterations = 500)"


class OptimalDecoding(BoundingDecoding):
    """As `certified`; where a gap is left, branch and bound closes it, or ends at `nodes`. So the labels are the best,
    whatever `infer` says, or `tag` and `eval` say on how many sentences that is not proven, and what the gap is.
    """

    method = "optimal"
    source = "Land & Doig 1960; Kolmogorov 2006, 2015"
    example = "infer trp\ndecode optimal(nodes = 5000)"
    written_out = "infer trp\ndecode optimal(iterations = 500, nodes = 5000)"
    nodes: int = setting(1000, "of the search of a sentence, at most", unit="nodes", ge=1, le=10_000_000)

    @property
    def most_nodes(self) -> int:
        return self.nodes


DECODINGS: Table[type[MethodSettings]] = Table(
    "decoding rule",
    {
        rule.method: rule
        for rule in (JointDecoding, MarginalDecoding, LocalDecoding, CertifiedDecoding, OptimalDecoding)
    },
    {
        "viterbi": "joint", "map": "joint", "posterior": "marginal", "mplp": "certified", "trws": "certified",
        "trw_s": "certified", "dual": "certified", "exact": "optimal", "branch_and_bound": "optimal",
    },
)  # fmt: skip

_RULE = re.compile(r"\s*(\w+)\s*(?:\(([^()]*)\))?\s*")
_SETTING = re.compile(r"\s*(\w+)\s*=\s*(\d+)\s*")


def decoding_text(settings: MethodSettings) -> str:
    """The text of a rule: its name, and the settings that differ from their defaults."""
    changed = settings.model_dump(exclude_defaults=True)
    inside = ", ".join(f"{name} = {value}" for name, value in changed.items())
    return f"{settings.method}({inside})" if inside else settings.method


def read_decoding(text: str) -> MethodSettings:
    """The settings of a rule from its text. Raises DcrfError where it is none."""
    match = _RULE.fullmatch(text)
    name = match[1] if match else text
    if match is None or name not in DECODINGS:
        known = ", ".join(f"`{rule}`" for rule in DECODINGS)
        remedy = spelling_remedy(DECODINGS.suggest(name), f"the ways to decode are {known}")
        raise DcrfError(Diagnostic("unknown-method", f"`{text}` is not a way to decode", help=remedy))
    parts = [_SETTING.fullmatch(part) for part in match[2].split(",")] if match[2] and match[2].strip() else []
    fields = DECODINGS[name].model_fields
    for part, written in zip(parts, (match[2] or "").split(","), strict=False):
        if part is None or part[1] not in fields:
            remedy = f"its settings are {', '.join(f'`{field}`' for field in fields)}" if fields else "it has none"
            raise DcrfError(Diagnostic("unknown-setting", f"`{written.strip()}` is not a setting of `decode {name}`",
                                       help=remedy))  # fmt: skip
    try:
        return DECODINGS[name](**{part[1]: int(part[2]) for part in parts if part is not None})
    except ValidationError as error:
        first = error.errors()[0]
        message = f"`{first['input']}` is no value for `{first['loc'][0]}`: {first['msg'].lower()}"
        raise DcrfError(Diagnostic("bad-setting", message)) from None


def bounding_decoding(text: str) -> BoundingDecoding | None:
    """The settings of a rule that searches for bounds; None for the other rules."""
    settings = read_decoding(text)
    return settings if isinstance(settings, BoundingDecoding) else None
