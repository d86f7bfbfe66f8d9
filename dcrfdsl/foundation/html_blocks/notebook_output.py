"""Outputs of notebooks: blocks with their style, as the `_repr_html_` of objects gives them.

An output needs no other file and no network, has no script, and stands by itself: exported notebooks keep it. Not here:
what objects say of themselves.
"""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

from .block_html import block_html
from .page_blocks import Block
from .style_sheets import notebook_style


def notebook_html(blocks: Iterable[Block]) -> str:
    """The blocks as one element of HTML with its style."""
    inner = Markup("\n").join(block_html(block) for block in blocks)
    return str(Markup('<div class="dcrf">\n<style>{}</style>\n{}\n</div>').format(Markup(notebook_style()), inner))
