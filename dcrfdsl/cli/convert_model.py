"""`dcrfdsl convert MODEL.crfsuite`: a model of CRFsuite as a model file of our own.

Not here: which files are such models (`convert_command`), the conversion (`crfsuite`).
"""

from __future__ import annotations

from pathlib import Path

from ..foundation import shell_word
from .console import Talk, refuse
from .output_clashes import Output, refuse_clash

MAGIC = b"lCRF"


def is_crfsuite_model(path: str) -> bool:
    """Whether a file begins as a CRFsuite model does; pipes are never read."""
    if not Path(path).is_file():
        return False
    try:
        with open(path, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:  # who reads it says so
        return False


def convert_model(path: str, output: Path | None, talk: Talk) -> None:
    """Writes the CRFsuite model at `path` as a model file, by default beside it with the ending `.model`.

    DcrfError if it is no such model, a damaged one, or cannot be written.
    """
    from ..crfsuite import native_model, read_crfsuite_file
    from . import report

    target = Path(path).with_suffix(".model") if output is None else output
    refuse_clash([Output("-o", target)], (path,))
    if target.exists():
        refuse("file-exists", f"`{target}` exists already", "choose another name, or remove it first")
    read = read_crfsuite_file(path)
    model = native_model(read, path)
    model.save(target)
    talk(f"{len(read.labels):,} labels, {len(read.attributes):,} attributes, {model.num_weights:,} weights")
    if left_out := sum(isinstance(name, bytes) for name in read.attributes):
        talk(f"warning: {left_out:,} attributes are not UTF-8, so that no text has them; they are left out")
    name = shell_word(target)
    talk(f"{target} written ({report.file_size(target)}); next:")
    talk(f"  dcrfdsl tag {name} FILE")
    talk(f"  dcrfdsl show {name} --template > chain.dcrf")
