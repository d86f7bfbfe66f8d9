"""The name of a file stands above what is in it: a line of its own, in bold code, right before a block.

    **`ner.dcrf`**

    ```dcrf
    dcrf 1
    ```

So a page reads well as plain Markdown; in the built pages the name becomes the caption of the block. The tests write
such a block to the file of that name. Not here: the tests (`tests/support/page_runner.py`).
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx


def _is_name(node: nodes.Node) -> bool:
    """Whether a node is a paragraph of one word of bold code alone, beside the empty texts of the parser."""
    for kind in (nodes.paragraph, nodes.strong):
        filled = [child for child in node.children if child.astext()]
        if not isinstance(node, kind) or len(filled) != 1:
            return False
        node = filled[0]
    return isinstance(node, nodes.literal)


def _join(app: Sphinx, document: nodes.document) -> None:
    for block in list(document.findall(nodes.literal_block)):
        place = block.parent.index(block)
        before = block.parent[place - 1] if place else block
        if _is_name(before):
            joined = nodes.container("", nodes.caption("", "", *before.findall(nodes.literal)), block.deepcopy())
            joined["literal_block"], joined["classes"] = True, ["literal-block-wrapper"]
            document.set_id(joined)
            block.parent[place - 1 : place + 1] = [joined]


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", _join)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
