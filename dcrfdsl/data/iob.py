"""Gold in IOB1 where the template says `bio`, which is IOB2: detection and conversion.

IOB1: a segment begins with I-X, and with B-X only directly after another segment of type X. IOB2: every segment begins
with B-X (Tjong Kim Sang & Veenstra 1999). Not here: which moves a scheme allows (`semantics.schema.segment_schemes`).
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import numpy as np

from ..foundation import Codes, Offsets
from ..semantics import Label, ModelSpec, split_state, statement_text

__all__ = ["conversion", "is_iob1"]

SCHEME = "bio"


def is_iob1(scheme: str, states: Sequence[str], codes: Codes, sentence_off: Offsets) -> bool:
    """Whether each B-X directly follows a segment of type X. For gold that breaks `bio`; `codes` [N] index `states`."""
    if scheme != SCHEME:
        return False
    parts = [split_state(scheme, state) or ("O", "") for state in states]
    kinds = {kind: n for n, kind in enumerate(dict.fromkeys(kind for _, kind in parts))}
    kind_of = np.array([kinds[kind] if mark != "O" else -1 for mark, kind in parts] + [-2])  # the last: unknown
    begins_of = np.array([mark == "B" for mark, _ in parts] + [False])
    known = np.where(codes >= 0, codes, len(parts))
    kind, begins = kind_of[known], begins_of[known]
    before = np.concatenate([[-3], kind[:-1]])
    before[sentence_off[:-1][np.diff(sentence_off) > 0]] = -3  # nothing stands before a sentence
    return bool((before[begins] == kind[begins]).all())


def conversion(label: Label, spec: ModelSpec, file: str) -> str:
    """Advice for a file in IOB1, with a command that can be pasted."""
    relaxed = statement_text(label.model_copy(update={"constrain": False, "doc": ()}))
    remedy = f"write `{relaxed}`, which takes it as it is"
    columns = [column.name for column in spec.data.columns] if spec.data is not None else []
    if spec.data is None or spec.data.format != "conll" or label.name not in columns:
        return f"write B-X for the first I-X of each segment; or {remedy}"
    separated = any(option.name == "separator" for option in spec.data.options)
    tabs = " -F '\\t' -v 'OFS=\\t'" if separated else ""
    at = f"${columns.index(label.name) + 1}"
    program = (
        f'NF {{ t = {at}; if (t ~ /^I-/ && p != t && p != "B" substr(t, 2)) {at} = "B" substr(t, 2); p = t }} '
        '!NF { p = "" } 1'
    )
    return (
        f"convert it, the first I-X of each segment to B-X:\n"
        f"awk{tabs} {shlex.quote(program)} {shlex.quote(file)} > iob2.txt\n"
        f"or {remedy}"
    )
