"""The formats by name. A format is loaded when it is first asked for.

`FORMATS` of `semantics` is the table of all formats, with what a template can say of them; the file `NAME_format.py`
has the rest of what there is to know of the format NAME. Not here: what that is (`format_interface`).
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from ...foundation import DcrfError, Diagnostic, spelling_remedy
from ...semantics import FORMATS
from .format_interface import DataFormat

_IN_FILE_OF = {"tsv": "csv", "grmm": "crfsuite"}  # formats that share the file of another one


@cache
def data_format(name: str) -> DataFormat:
    """The format `name`. `DcrfError` if there is none."""
    if name not in FORMATS:
        remedy = spelling_remedy(FORMATS.suggest(name), f"known formats: {', '.join(FORMATS)}")
        raise DcrfError(Diagnostic("unknown-format", f"`{name}` is not a data format", help=remedy))
    found: DataFormat = import_module(f".{_IN_FILE_OF.get(name, name)}_format", __package__).FORMATS[name]
    return found


def written_formats() -> list[str]:
    """The formats that data can be converted to."""
    return [name for name in FORMATS if data_format(name).emitter is not None]


def format_of_suffix(suffix: str) -> str | None:
    """The format that an ending of a file name means, as `.csv`; None if it means none."""
    return next((name for name in FORMATS if suffix in data_format(name).suffixes), None)
