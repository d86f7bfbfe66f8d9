"""A specification that no template file gave, with places in the text that it would have as a template.

A specification may be built by the methods of `builder.Model`, by hand, by `model_copy`, or come from a model file. It
is written down and read again, so that complaints about it point at lines as those about a file do. Not here: whether
it makes sense (`checks.checker`), writing (`unparse`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from ...errors import DcrfError, Diagnostic
from ..checks import check
from ..schema import ModelSpec, to_text
from .resolution import Resolved, load_text

__all__ = ["approve_stored", "require_spec", "written"]


def written(
    spec: ModelSpec,
    name: str = "model",
    *,
    directory: Path = Path("."),
    directories: Mapping[str, Path] | None = None,
) -> Resolved:
    """The specification with its places in its own text, and what reading that text complains of.

    `name` stands in messages. `directory` is where its paths start; `directories`, if given, says it of each.

    Raises TypeError for what is no specification, DcrfError for one with fields that cannot be.
    """
    spec = require_spec(spec)
    try:
        text = to_text(spec)
    except ValueError as error:  # what the language cannot say
        raise DcrfError(Diagnostic("bad-specification", f"model `{name}`: {error}")) from None
    read = load_text(text, f"<{name}>", directory=directory)
    found = read.diagnostics
    if not found and read.spec != spec:
        message = f"model `{name}` cannot be written as a template: a name or state holds a mark of the language"
        found = (Diagnostic("bad-name", message),)
    own = read.directories if directories is None else directories
    return replace(read, spec=spec, diagnostics=found, directories=own)


def require_spec(spec: ModelSpec) -> ModelSpec:
    """The specification with every field of its type, which `model_copy` and the like do not see to.

    Raises TypeError for what is no specification, DcrfError for one with fields that cannot be.
    """
    if not isinstance(spec, ModelSpec):
        raise TypeError(f"expected a ModelSpec, found {type(spec).__name__}")
    try:
        return ModelSpec.model_validate(spec.model_dump(warnings=False))
    except ValidationError as error:
        raise DcrfError([_misfit(problem) for problem in error.errors(include_url=False)]) from None
    except (PydanticSerializationError, AttributeError, TypeError, RecursionError) as error:
        message = f"the specification holds what no template does: {error}"
        raise DcrfError(Diagnostic("bad-specification", message)) from None


def approve_stored(spec: ModelSpec, stage: str, file: str) -> None:
    """DcrfError where the checker refuses the template of a model file. What it names of files need not be there."""
    found = check(Resolved(spec), stage=stage or None, registered=None)
    errors = [replace(problem, location=file) for problem in found if problem.severity == "error"]
    if errors:
        raise DcrfError(errors)


def _misfit(problem: Mapping[str, Any]) -> Diagnostic:
    """`labels.0.name` is 5: input should be a valid string"""
    place = ".".join(str(part) for part in problem["loc"])
    found = repr(problem["input"])
    shown = found if len(found) <= 60 else f"{found[:57]}…"
    message = f"`{place}` of the specification is {shown}: {problem['msg'][:1].lower()}{problem['msg'][1:]}"
    return Diagnostic("bad-specification", message)
