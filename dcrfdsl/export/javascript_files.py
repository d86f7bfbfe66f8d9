"""The text of an exported tagger in JavaScript: one ES module with its model, or one page that holds the module.

The module is the files of `javascript` one after another, then the model as JSON: its description and texts, and its
arrays in base64. `<` is always an escape in it, so that no word of the model can end the script of a page. Not here:
what the model is written as (`tagger_description`), what the files do.
"""

from __future__ import annotations

import base64
import hashlib
import json
import textwrap
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import escape

from .. import __version__
from ..foundation import parts_style, printable_lines
from ..model import TrainedModel
from ..semantics import bare_marks, split_mark, to_text
from ..syntax import Scheme
from .tagger_description import TaggerContent

LARGEST_NUMBER = 2**53  # up to here the numbers of JavaScript are whole
PROGRAM = ("texts", "tokens", "sentences", "features", "elimination", "model")
_LINE = f"// {'=' * 117}\n"


def _module(model: TrainedModel, program: Path, content: TaggerContent) -> dict[Path, bytes]:
    """The module and the declarations of its types, by path."""
    labels = ", ".join(f"`{name}` ({len(model.states[name]):,} states)" for name in model.labels)
    about = _resource("about.txt").format(
        labels=labels, file=program.name, version=__version__, weights=content.num_weights,
        template=textwrap.indent(to_text(model.spec).rstrip(), "    "),
    )  # fmt: skip
    heading = "".join(f"// {line}".rstrip() + "\n" for line in printable_lines(about).splitlines())
    text = f"{heading}\n{_program((*PROGRAM, 'command'))}{_model(model, content)}"
    return {program: text.encode(), program.with_suffix(".d.mts"): _resource("tagger.d.mts").encode()}


def _page(model: TrainedModel, program: Path, content: TaggerContent) -> dict[Path, bytes]:
    """The page, by its path. Its policy lets a browser run this script and style alone, and load nothing."""
    script = f"{_program((*PROGRAM, 'page'))}{_model(model, content)}"
    style = parts_style() + _resource("tagger_page.css")
    policy = f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'"
    filled = {
        "policy": f"{policy}; base-uri 'none'; form-action 'none'", "version": __version__, "style": style,
        "title": str(escape(program.stem)), "labels": str(escape(", ".join(model.labels))), "script": script,
    }  # fmt: skip
    page = _resource("tagger_page.html")
    for name, text in filled.items():  # the script comes last: its words are not looked at again
        page = page.replace(f"{{{{ {name} }}}}", text)
    return {program: page.encode()}


# Suffix of the file → all files that are written, by path; the first has the weights.
JAVASCRIPT: Mapping[str, Callable[[TrainedModel, Path, TaggerContent], dict[Path, bytes]]] = {
    ".mjs": _module, ".html": _page,
}  # fmt: skip


def _resource(name: str) -> str:
    return files(__package__).joinpath("javascript", name).read_text(encoding="utf-8")


def _program(parts: tuple[str, ...]) -> str:
    return "".join(f"{_LINE}{_resource(f'tagger_{part}.mjs')}\n" for part in parts)


def _hash(content: str) -> str:
    """As a Content-Security-Policy names a script or style."""
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"


def _model(model: TrainedModel, content: TaggerContent) -> str:
    """The model as a constant: a text of JSON, which engines read faster than a literal."""
    domains = {label.name: label.domain for label in model.spec.labels}
    schemes = {name: domain.name for name, domain in domains.items() if isinstance(domain, Scheme)}
    marks = {
        name: [split_mark(state, bare=bare_marks(model.states[name])) or ("O", "") for state in model.states[name]]
        for name in schemes
    }
    folds = any(ignores_case for _, _, ignores_case in content.description["lexicons"].values())
    written = {
        "description": {
            **content.description,
            "schemes": schemes,
            "marks": marks,
            "folded": _folded() if folds else [],
        },
        "texts": content.texts,
        "arrays": {name: _array(values) for name, values in content.arrays.items()},
    }
    text = json.dumps(written, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f"{_LINE}// The model.\n\nconst MODEL = {json.dumps(text, ensure_ascii=False)};\n"


def _array(values: Any) -> tuple[str, str]:
    """The type of the numbers and their bytes in base64. Numbers of 64 bits are those of JavaScript."""
    kind = {"u8": "f8", "b1": "u1"}.get(values.dtype.str[1:], values.dtype.str[1:])
    return kind, base64.b64encode(np.ascontiguousarray(values, f"<{kind}").tobytes()).decode()


def _folded() -> list[tuple[str, str]]:
    """The characters whose case folding is not their lower case."""
    every = map(chr, (*range(0xD800), *range(0xE000, 0x20000)))
    return [(char, char.casefold()) for char in every if char.casefold() != char.lower()]
