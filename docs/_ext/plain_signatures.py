"""Signatures as a reader would write them: without what Python shows of defaults and types that have no short form.

`PosixPath('.')` becomes `Path('.')`, a default that is made anew each time `…`, `<function f>` becomes `f`, and
`Annotated[T, FieldInfo(…)]` its `T`. A class whose `__new__` takes anything is shown as its `__init__` takes it,
and one that users get, and do not make, without what it takes. Not here: docstrings (`plain_docstrings`); names in
place of long types (`autodoc_type_aliases`).
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from plain_docstrings import is_made
from sphinx.application import Sphinx

ANNOTATED = re.compile(r"Annotated\[((?:[^\[\]]|\[[^\[\]]*\])*?), FieldInfo\([^()]*\)\]")
# Unions of nodes, which have no name in signatures: what users call them.
UNIONS = {
    r"(?:[~\w.]*\b(?:Label|[A-Z]\w+) \| ){12}[~\w.]*\bExpectation\b": "Statement",
    r"(?:[~\w.]*Sequence\[str\] \| int \| )?[~\w.]*Annotated\[[^\[\]]*\bLearned\b[^\[\]]*\]": "Domain",
    r"[~\w.]*Annotated\[[^\[\]]*\bReference\b[^\[\]]*\]": "Value",
}


def plain_signature(text: str) -> str:
    """A signature or a type, in plain words."""
    text = re.sub(r"\b(?:Posix|Windows)Path\(", "Path(", text)
    text = re.sub(r"<function (?:\w+\.)*(\w+)(?: at \w+)?>", r"\1", text)
    text = re.sub(r"<[\w.]+ object at \w+>|<factory>", "…", text)
    text = re.sub(r"\w*TypeAliasForwardRef\('(\w+)'\)", r"\1", ANNOTATED.sub(r"\1", text))
    for union, name in UNIONS.items():
        text = re.sub(union, name, text)
    return text


def _process(
    app: Sphinx, what: str, name: str, item: object, options: object, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Types that stand in descriptions have been noted by now, under the object's name; these are changed there."""
    noted = app.env.current_document.autodoc_annotations.get(name, {})
    if isinstance(item, type) and not is_made(item):
        noted.clear()
        return "", None
    if isinstance(item, type) and signature == "(*args, **kwargs)":
        _, *taken = inspect.signature(inspect.getattr_static(item, "__init__")).parameters.values()
        signature = str(inspect.Signature([one.replace(annotation=one.empty) for one in taken]))
        noted.clear()
        noted.update({one.name: str(one.annotation) for one in taken})
    for key, annotation in noted.items():
        noted[key] = plain_signature(annotation)
    return signature and plain_signature(signature), returned and plain_signature(returned)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-signature", _process, priority=900)  # after autodoc's own
    return {"parallel_read_safe": True, "parallel_write_safe": True}
