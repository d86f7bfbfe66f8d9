"""What an editor's settings say under `dcrf`: the data file of each template, and files of own feature functions.

    {"data": "train.txt"}   {"data": {"chunk*.dcrf": "conll/train.txt"}}   {"features": ["shapes.py"]}

Paths are relative to the folder of the workspace. A template may name its data itself, relative to the template, in a
comment `# data: train.txt`. Own functions are found in the text of their files, which are not run. Not here: asking the
editor for them (`lsp_server`).
"""

from __future__ import annotations

import ast as python
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

DATA_COMMENT = re.compile(r"^#+[ \t]*data:[ \t]*(\S[^\r\n]*?)[ \t]*\r?$", re.MULTILINE)
DECORATOR = "feature"


@dataclass(frozen=True)
class WorkspaceSettings:
    """data: patterns of template names, and the data file of each, the first that fits.   features: Python files."""

    folder: Path = Path(".")
    data: Mapping[str, str] = field(default_factory=dict)
    features: Sequence[str] = ()

    def data_of(self, path: Path, text: str) -> Path | None:
        """The data file of a template: the one that it names itself, else the one of the settings, if it exists."""
        match = DATA_COMMENT.search(text)
        named = [path.parent / match[1]] if match else []
        named += [
            self.folder / file
            for pattern, file in self.data.items()
            if fnmatch(path.name, pattern) or fnmatch(str(path), str(self.folder / pattern))
        ]
        return next((file for file in named if _is_file(file)), None)

    def own_functions(self) -> tuple[str, ...]:
        """The names of the functions under `@dcrfdsl.feature` in the files of the settings."""
        return tuple(dict.fromkeys(name for file in self.features for name in _functions(self.folder / file)))


def read_settings(given: Any, folder: Path) -> WorkspaceSettings:
    """The settings of a JSON value; what is not understood counts as not given."""
    values = given.get("dcrf", given) if isinstance(given, Mapping) else {}
    values = values if isinstance(values, Mapping) else {}
    data, features = values.get("data"), values.get("features")
    if isinstance(data, str):
        data = {"*": data} if data else {}
    pairs = data.items() if isinstance(data, Mapping) else ()
    listed = features if isinstance(features, list) else [features]
    return WorkspaceSettings(
        folder,
        {pattern: file for pattern, file in pairs if isinstance(pattern, str) and isinstance(file, str)},
        tuple(file for file in listed if isinstance(file, str) and file),
    )


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _functions(path: Path) -> Iterator[str]:
    try:
        tree = python.parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError, RecursionError):
        return
    for node in python.walk(tree):
        if isinstance(node, python.FunctionDef):
            for decorator in node.decorator_list:
                called = decorator.func if isinstance(decorator, python.Call) else decorator
                last = called.attr if isinstance(called, python.Attribute) else getattr(called, "id", "")
                if last == DECORATOR:
                    yield node.name
