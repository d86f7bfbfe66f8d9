"""Signatures as a reader would write them: without what Python shows of defaults and types that have no short form.

`PosixPath('.')` becomes `Path('.')`, a default that is made anew each time `…`, and `Annotated[T, FieldInfo(…)]` its
`T`. A class whose `__new__` takes anything is shown as its `__init__` takes it. Not here: docstrings
(`plain_docstrings`).
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from sphinx.application import Sphinx

ANNOTATED = re.compile(r"Annotated\[((?:[^\[\]]|\[[^\[\]]*\])*?), FieldInfo\([^()]*\)\]")


def plain_signature(text: str) -> str:
    """A signature or a type, in plain words."""
    text = re.sub(r"\b(?:Posix|Windows)Path\(", "Path(", text)
    return ANNOTATED.sub(r"\1", text.replace("<factory>", "…"))


def _process(
    app: Sphinx, what: str, name: str, item: object, options: object, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Types that stand in descriptions have been noted by now, under the object's name; these are changed there."""
    noted = app.env.current_document.autodoc_annotations.get(name, {})
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
