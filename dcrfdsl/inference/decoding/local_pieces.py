"""The rule that decodes a stage's labels, and the pieces that local decoding goes by.

Not here: local decoding (`local_decoding`), the rule that a template asks for (`semantics`).
"""

from __future__ import annotations

import math

from ...foundation import DcrfError, Diagnostic
from ...graph import ModelGraph, PieceTemplate, piece_templates
from ...kernels.piecewise import MOST_SITES
from ...semantics import ModelSpec, decode_rule, last_pieces
from .local_decoding import local_decoding_cost

LARGEST = 2**16  # joint states of a piece that local decoding may enumerate
MOST_SEARCHED = 2**20  # entries of a table in local decoding, where that is only the default


def local_pieces(spec: ModelSpec, graph: ModelGraph, stage: str | None = None) -> list[PieceTemplate]:
    """The pieces that `decode local` uses. DcrfError where there are none, or one is too large for it."""
    pieces = last_pieces(spec, stage)
    if not pieces:
        message = "`decode local` needs a model that is trained in pieces"
        raise DcrfError(Diagnostic("no-pieces", message, help="train by `memm`, or by `piecewise` with pieces"))
    templates = piece_templates(spec, graph, pieces)
    if any(template.everywhere for template in templates):
        message = "`decode local` does not go by pieces over whole sequences"
        raise DcrfError(Diagnostic("no-pieces", message, help="write `decode joint`"))
    large = [template.name for template in templates if is_large_piece(graph, template, LARGEST)]
    if large:
        message = f"`decode local` goes by pieces of at most {LARGEST:,} joint states, and `{large[0]}` has more"
        raise DcrfError(Diagnostic("piece-too-large", message, help="write `decode joint`"))
    return templates


def resolve_decode_rule(spec: ModelSpec, graph: ModelGraph, stage: str) -> str:
    """The rule that decodes the labels of a stage, now that all sizes are known.

    `joint` replaces `local` where that is only the default of the criterion and its tables would not fit.
    """
    rule = decode_rule(spec, stage)
    if rule.name != "local" or rule.trained is None:
        return rule.name
    try:
        fits = local_decoding_cost(graph, local_pieces(spec, graph, stage)).largest <= MOST_SEARCHED
    except DcrfError:
        fits = False
    return rule.name if fits else "joint"


def is_large_piece(graph: ModelGraph, template: PieceTemplate, most: int) -> bool:
    """Whether a piece has more than `most` joint states, or too many variables for enumeration."""
    joint = math.prod(graph.cards[variable] for variable, _ in template.over)
    return joint > most or len(template.over) > MOST_SITES
