"""Names of the package in running text lead to their description: `dcrfdsl.fit` in backquotes is a link.

`reference/python.md` lists all names. There each is also the place that links of older versions of that page lead to,
`python.html#dcrfdsl.fit`. Not here: the descriptions, which autodoc makes (`reference/python`).
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.nodes import make_refnode

INDEX = "reference/python"
NAME = re.compile(r"(dcrfdsl(?:\.\w+)+)(?:\(.*\))?", re.DOTALL)


def _link(app: Sphinx, document: nodes.document, page: str) -> None:
    described = app.env.domains["py"].data["objects"]
    for code in list(document.findall(nodes.literal)):
        found = NAME.fullmatch(code.astext())
        entry = described.get(found[1]) if found else None
        if found is None or entry is None or _is_linked(code):
            continue
        if page == INDEX:
            code["ids"].append(found[1])
        code.replace_self(make_refnode(app.builder, page, entry.docname, entry.node_id, code.deepcopy()))


def _is_linked(node: nodes.Node) -> bool:
    """Whether a node is within a link, a heading or the name of what is described there."""
    while node.parent is not None:
        node = node.parent
        if isinstance(node, nodes.reference | nodes.title) or node.tagname == "desc_signature":
            return True
    return False


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-resolved", _link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
