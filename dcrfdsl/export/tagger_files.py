"""Writes an exported tagger: one Python file, and one `.npz` of the same name beside it.

Not here: what is in them (`single_file`, `tagger_description`).
"""

from __future__ import annotations

import io
import json
import os
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from ..foundation import WRITING, clear_os_errors, data_error, ensure_writable, write_whole
from ..model import TrainedModel
from ..semantics import to_text
from .exportable import refuse_unless_exportable
from .lighter_weights import WIDTHS, lighter
from .single_file import single_file
from .tagger_description import tagger_content

PROGRAM = "tagger.py"  # in a folder


class ExportedTagger(NamedTuple):
    """What was written.

    program, arrays: the two files.   bytes: of both.   num_weights: that are left; those of features that are 0 are
    not written.   slow: regular expressions on which Python's `re` may take long.   model: the same model with the
    weights that were written.
    """

    program: Path
    arrays: Path
    bytes: int
    num_weights: int
    slow: tuple[str, ...]
    model: TrainedModel


def export_tagger(
    model: TrainedModel, path: str | Path, *, bits: int = 64, threshold: float = 0.0, share: float = 0.0
) -> ExportedTagger:
    """Writes a self-contained tagger, which needs numpy alone and labels like `model.predict`.

    path: of the Python file, or of a folder.
    bits: of a weight, 64, 32 or 16.
    threshold: weights of features below it are left out.
    share: from 0 to 1, of these weights, the smallest, that are left out.

    Raises DcrfError `cannot-export` if the model needs more than exact inference and built-in features, and if a file
    cannot be written. The files are replaced whole or not at all.

    >>> written = export_tagger(model, "address.py")
    >>> written.program.name, written.arrays.name, written.num_weights
    ('address.py', 'address.npz', 53)
    """
    if bits not in WIDTHS:
        raise ValueError(f"`bits` is {bits}, expected {', '.join(map(str, WIDTHS))}")
    if not 0 <= share <= 1 or not threshold >= 0:
        raise ValueError("`share` is from 0 to 1, and `threshold` at least 0")
    refuse_unless_exportable(model)
    program = _program_at(path)
    arrays_file = program.with_suffix(".npz")
    lighter_model = lighter(model, bits=bits, threshold=threshold, share=share).model
    content = tagger_content(lighter_model, bits)
    stored = _stored(content.arrays, content.description)
    text = single_file(_docstring(lighter_model, program.stem, content.num_weights)).encode()
    ensure_writable(program)
    write_whole(arrays_file, (stored,))
    write_whole(program, (text,))
    return ExportedTagger(
        program, arrays_file, len(stored) + len(text), content.num_weights, content.slow, lighter_model
    )


def _program_at(path: str | Path) -> Path:
    """The Python file; a folder is made if it is not there."""
    target = Path(path)
    if target.suffix == ".py" and not target.is_dir():
        return target
    if target.suffix and not target.is_dir():
        message = f"`{path}` is neither a `.py` file nor a folder"
        raise data_error("cannot-export", message, help="write `-o tagger.py`, or `-o FOLDER`")
    with clear_os_errors(path, WRITING):
        os.makedirs(target, exist_ok=True)
    return target / PROGRAM


def _stored(arrays: dict[str, NDArray[Any]], description: dict[str, Any]) -> bytes:
    text = json.dumps(description, ensure_ascii=False, separators=(",", ":"))
    file = io.BytesIO()
    everything: dict[str, Any] = {"description": np.frombuffer(text.encode(), np.uint8), **arrays}
    np.savez(file, **everything)
    return file.getvalue()


def _docstring(model: TrainedModel, stem: str, num_weights: int) -> str:
    """What the file says of itself; nothing in it may end the docstring or be an escape."""
    labels = ", ".join(f"`{name}` ({len(model.states[name]):,} states)" for name in model.labels)
    columns = ", ".join(
        c.name for c in (model.spec.data.columns if model.spec.data else ()) if c.name not in model.labels
    )
    about = f"""A tagger of {labels}, which needs numpy alone.

    python {stem}.py < data.txt          labels text; --help says more

    from {stem} import Tagger
    Tagger().tag(sentence)               a list of tokens ({columns}), or a mapping of columns

Its {num_weights:,} weights of features are in `{stem}.npz`, which must lie beside this file. Both were written by
`dcrfdsl export` {__version__} from a model with this template:

{textwrap.indent(to_text(model.spec).rstrip(), "    ")}
"""
    return about.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
