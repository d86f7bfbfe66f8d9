"""What `check --print` shows of a template: the tree, the specification, the template written out, the cliques.

Each is a text that depends on the template alone: no addresses, no times, no order of a hash. Not here: checking
(`check_command`), drawings of sentences (`unroll_command`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..semantics import ModelSpec, Resolved


def tree_of(text: str, name: str) -> str:
    """The tree of a text with the place of each node. Raises `DcrfError` if it cannot be read."""
    from ..syntax import parse, tree_text

    return tree_text(parse(text, name))


def _specification(resolved: Resolved, stage: str | None, folder: Path) -> str:
    """The specification as JSON; `dcrfdsl schema model` describes it."""
    return json.dumps(resolved.spec.model_dump(mode="json"), indent=2, ensure_ascii=False) + "\n"


def _written_out(resolved: Resolved, stage: str | None, folder: Path) -> str:
    """The template without `use`, shorthands and windows, and with its defaults."""
    from ..semantics import expanded, to_text, with_defaults, without_windows

    spec = expanded(_with_paths(resolved, folder), stage)
    return to_text(with_defaults(without_windows(spec), stage), every_option=True)


def _with_paths(resolved: Resolved, folder: Path) -> ModelSpec:
    """The specification with the paths of files that `use` brought from another folder as seen from `folder`."""
    from ..semantics import StateFile

    def moved(name: str, path: str) -> str:
        there = resolved.directories.get(name, folder)
        apart = not os.path.isabs(path) and there.resolve() != folder.resolve()
        return Path(os.path.relpath(there / path, folder)).as_posix() if apart else path

    def with_states(item: Any) -> Any:
        if not isinstance(item.domain, StateFile):
            return item
        domain = item.domain.model_copy(update={"path": moved(item.name, item.domain.path)})
        return item.model_copy(update={"domain": domain})

    spec = resolved.spec
    lexicons = [one.model_copy(update={"path": moved(one.name, one.path)}) for one in spec.lexicons]
    variables = {part: tuple(map(with_states, getattr(spec, part))) for part in ("labels", "latents", "memories")}
    return spec.model_copy(update={"lexicons": tuple(lexicons), **variables})


def _cliques(resolved: Resolved, stage: str | None, folder: Path) -> str:
    """The cliques unrolled over a few positions."""
    from ..data import declared_states
    from ..graph import clique_listing
    from ..semantics import expanded

    return clique_listing(expanded(resolved.spec, stage), declared_states(resolved.spec, resolved.directories))


# By their names on the command line: functions of a template that the checker accepts, of the stage that runs, and of
# the folder that paths are relative to. The tree, `ast`, is that of a text.
PASSES: Mapping[str, Callable[[Resolved, str | None, Path], str]] = {
    "spec": _specification,
    "expanded": _written_out,
    "graph": _cliques,
}
