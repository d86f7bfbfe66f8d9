"""Texts cut at ASCII white space, as the readers of data do: a no-break space is part of a word.

`str.split` cuts at every white space of Unicode, and at the controls 0x1c to 0x1f. Not here: tokenizers.
"""

from __future__ import annotations

import re

ASCII_SPACE = " \t\n\v\f\r"
_PART = re.compile(f"[^{ASCII_SPACE}]+")


def parts_of(text: str) -> list[str]:
    """The parts of a text between white space."""
    return _PART.findall(text)
