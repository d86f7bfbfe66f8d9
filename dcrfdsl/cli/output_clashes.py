"""Outputs that would replace what a command reads, and outputs that would replace each other.

Two names are of one file where the system says so: links count as what they lead to. Not here: whether an output can be
written at all (`foundation.ensure_writable`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from .console import refuse
from .inputs import STDIN

if TYPE_CHECKING:
    from ..semantics import Label, Latent, Memory, Resolved


class Output(NamedTuple):
    """What a command writes.   option: that names it.   path: None where the option is not given.

    beside: whether the command makes up the name itself, from the one that is given.
    """

    option: str
    path: str | Path | None
    beside: bool = False


def refuse_clash(outputs: Iterable[Output], inputs: Iterable[str | Path | None]) -> None:
    """`DcrfError` if an output is one of the inputs or in a folder among them, `BadParameter` if two outputs are one
    file. An input None is one that is not given, `-` is stdin.
    """
    written = [output for output in outputs if output.path is not None]
    for one, other in combinations(written, 2):
        if _is_same(one.path, other.path) or _resolved(one.path) == _resolved(other.path):
            raise click.BadParameter(f"`{one.option}` and `{other.option}` name one file twice: `{one.path}`")
    present = [output for output in written if os.path.exists(os.fspath(output.path or ""))]
    if not present:
        return
    for path in _files(inputs):
        for output in present:
            if _is_same(output.path, path):
                remedy = f"name another file after `{output.option}`"
                if output.beside:
                    remedy += f": the command writes `{output.path}` beside it"
                refuse("output-is-input", f"`{output.path}` is an input of this command", remedy)


def refuse_foreign(checkpoint: Path) -> None:
    """Raises `DcrfError` if a file that is no checkpoint stands where one is to be."""
    if not os.path.lexists(checkpoint):
        return
    from ..training import is_checkpoint

    if not is_checkpoint(checkpoint):
        message = f"`{checkpoint}` is no checkpoint, and training would write its own there"
        refuse("file-exists", message, "move it away, or name another model after `-o`")


def files_of_template(resolved: Resolved) -> list[Path]:
    """The files that a template reads besides itself and the data: used templates, lexicons, files of states."""
    from ..semantics import StateFile

    spec, directories = resolved.spec, resolved.directories
    named = [(lexicon.name, lexicon.path) for lexicon in spec.lexicons]
    variables: tuple[Label | Latent | Memory, ...] = (*spec.labels, *spec.latents, *spec.memories)
    for variable in variables:
        if isinstance(variable.domain, StateFile):
            named.append((variable.name, variable.domain.path))
    return [*resolved.used, *(directories[name] / path for name, path in named if name in directories)]


def _files(inputs: Iterable[str | Path | None]) -> Iterator[str | Path]:
    """The inputs that are there; of a folder the folder itself and its files."""
    for path in inputs:
        if path is None or os.fspath(path) in ("", STDIN):
            continue
        yield path
        if os.path.isdir(path):
            with os.scandir(path) as inside:
                yield from (entry.path for entry in inside if entry.is_file())


def _is_same(one: str | Path | None, other: str | Path | None) -> bool:
    try:
        return one is not None and other is not None and os.path.samefile(one, other)
    except (OSError, ValueError):  # one of them is not there, or has an impossible name: who opens it says so
        return False


def _resolved(path: str | Path | None) -> str:
    return os.path.realpath(os.fspath(path or ""))
