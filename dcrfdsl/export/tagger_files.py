"""Writes an exported tagger: one Python file with a `.npz` of the same name beside it, one ES module, or one page.

The Python file is the modules of `standalone` one after another: their docstrings as headings, their imports once, the
rest as it is. Not here: what the model is written as (`tagger_description`), what the modules do, the text of the
files in JavaScript (`javascript_files`).
"""

from __future__ import annotations

import ast
import io
import json
import os
import textwrap
from collections import Counter
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import __version__
from ..foundation import WRITING, clear_os_errors, data_error, ensure_writable, write_whole
from ..model import TrainedModel
from ..semantics import to_text
from .exportable import WIDTHS, lighter, refuse_unless_exportable
from .javascript_files import JAVASCRIPT, LARGEST_NUMBER
from .tagger_description import TaggerContent, narrow, tagger_content

PROGRAM = "tagger.py"  # in a folder


class ExportedTagger(NamedTuple):
    """What was written.

    files: all that were written.   program: the one that tags.   arrays: the one with the weights, in JavaScript the
    same.   bytes: of all files.
    num_weights: that are left; those of features that are 0 are not written.   slow: regular expressions on which the
    program may take long.   model: the same model with the weights that were written.
    """

    files: tuple[Path, ...]
    program: Path
    arrays: Path
    bytes: int
    num_weights: int
    slow: tuple[str, ...]
    model: TrainedModel


def export_tagger(
    model: TrainedModel, path: str | Path, *, bits: int = 64, threshold: float = 0.0, share: float = 0.0
) -> ExportedTagger:
    """Writes a self-contained tagger, which labels like `model.predict`.

    path: of the Python file, which needs numpy alone, or of a folder for it; `.mjs` for a module of JavaScript, which
    needs nothing; `.html` for a page in which a text can be typed.
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
    lighter_model = lighter(model, bits=bits, threshold=threshold, share=share).model
    if program.suffix in JAVASCRIPT:
        content = tagger_content(lighter_model, bits, LARGEST_NUMBER)
        written = JAVASCRIPT[program.suffix](lighter_model, program, content)
    else:
        content = tagger_content(lighter_model, bits)
        text = single_file(_docstring(lighter_model, program.stem, content.num_weights)).encode()
        written = {program.with_suffix(".npz"): _stored(content), program: text}
    ensure_writable(program)
    for file, stored in written.items():
        write_whole(file, (stored,))
    size = sum(map(len, written.values()))
    return ExportedTagger(
        tuple(sorted(written, key=program.__ne__)), program, next(iter(written)), size, content.num_weights,
        content.slow, lighter_model,
    )  # fmt: skip


def _program_at(path: str | Path) -> Path:
    """The Python file; a folder is made if it is not there."""
    target = Path(path)
    if target.suffix in (".py", *JAVASCRIPT) and not target.is_dir():
        return target
    if target.suffix and not target.is_dir():
        message = f"`{path}` is neither a `.py` file nor a folder, nor `.mjs` or `.html`"
        raise data_error("cannot-export", message, help="write `-o tagger.py`, `-o tagger.mjs` or `-o FOLDER`")
    with clear_os_errors(path, WRITING):
        os.makedirs(target, exist_ok=True)
    return target / PROGRAM


def _stored(content: TaggerContent) -> bytes:
    text = json.dumps(content.description, ensure_ascii=False, separators=(",", ":"))
    texts = np.frombuffer("".join(content.texts).encode(), np.uint8)
    lengths = narrow(np.array([len(one) for one in content.texts], np.int64))
    file = io.BytesIO()
    everything: dict[str, Any] = {"texts": texts, "text_lengths": lengths, **content.arrays}
    np.savez(file, description=np.frombuffer(text.encode(), np.uint8), **everything)
    return file.getvalue()


def _docstring(model: TrainedModel, stem: str, num_weights: int) -> str:
    """What the file says of itself; nothing in it may end the docstring or be an escape."""
    labels = ", ".join(f"`{name}` ({len(model.states[name]):,} states)" for name in model.labels)
    columns = ", ".join(
        c.name for c in (model.spec.data.columns if model.spec.data else ()) if c.name not in model.labels
    )
    about = Path(__file__).with_name("standalone").joinpath("about.txt").read_text(encoding="utf-8").format(
        labels=labels, stem=stem, columns=columns, version=__version__, weights=num_weights,
        template=textwrap.indent(to_text(model.spec).rstrip(), "    "),
    )  # fmt: skip
    return about.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


# the program as one file ---------------------------------------------------------------------------------------------


# In an order in which each needs only those before it.
MODULES = (
    "features/values/text_functions.py",
    "features/values/window_statistics.py",
    *(
        f"export/standalone/tagger_{topic}.py"
        for topic in ("texts", "tokens", "sentences", "features", "elimination", "model", "lines", "command")
    ),
)
PUBLIC = ("Tagger", "TaggerError", "main")  # names that a user of the one file needs
WIDTH = 120
END = '\n\nif __name__ == "__main__":\n    sys.exit(main())\n'


def single_file(docstring: str) -> str:
    """The text of the file, which begins with `docstring`."""
    package = files(__package__.partition(".")[0])
    sources = [(package / path).read_text(encoding="utf-8") for path in MODULES]
    modules = [ast.parse(source) for source in sources]
    counts = Counter(name for module in modules for node in module.body for name in _defined(node))
    if twice := [name for name, count in counts.items() if count > 1]:  # the second would replace the first
        raise RuntimeError(f"modules of one file define twice: {', '.join(twice)}")
    public = f"__all__ = {json.dumps(PUBLIC)}"
    parts = [f'"""{docstring}"""\n\nfrom __future__ import annotations\n\n{_imports(modules)}\n\n{public}\n']
    for source, module in zip(sources, modules, strict=True):
        rest = next(n for n, node in enumerate(module.body) if n and not isinstance(node, ast.Import | ast.ImportFrom))
        last = module.body[rest - 1].end_lineno
        body = "\n".join(source.splitlines()[last:]).strip("\n")
        parts.append(f"\n\n{_heading(ast.get_docstring(module) or '')}\n\n{body}\n")
    return "".join(parts) + END


def _defined(node: ast.stmt) -> list[str]:
    """The names that a statement at the top of a module defines."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]


def _imports(modules: Iterable[ast.Module]) -> str:
    """The imports of all modules, without those of each other: the standard library, then numpy."""
    plain: dict[str, str | None] = {}
    of_module: dict[str, set[str]] = {}
    for module in modules:
        for node in module.body:
            if isinstance(node, ast.Import):
                plain.update((alias.name, alias.asname) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module and node.module != "__future__":
                of_module.setdefault(node.module, set()).update(alias.name for alias in node.names)
    lines = [f"import {name}" + (f" as {other}" if other else "") for name, other in sorted(plain.items())]
    lines += [f"from {name} import {', '.join(sorted(wanted))}" for name, wanted in sorted(of_module.items())]
    ours = [line for line in lines if line.split()[1].startswith("numpy")]
    return "\n".join([*(line for line in lines if line not in ours), "", *ours])


def _heading(docstring: str) -> str:
    """A docstring as comments below a line."""
    lines = docstring.split("Not here:")[0].rstrip().splitlines()
    return "\n".join([f"# {'=' * (WIDTH - 2)}", *(f"# {line}".rstrip() for line in lines)])
