"""A specification without a template file, with places in the text that it would have as a template.

A specification may be built by the methods of `template.Template`, by hand, by `model_copy`, or come from a model file.
It is written as text and read again, so that its problems point at lines like those of a file. Not here: whether it is
meaningful (`checks`), writing (`unparse`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from ...foundation import DcrfError, Diagnostic
from ..checks import check
from ..schema import ModelSpec, to_text
from .resolution import Resolved, load_text


def resolved_from_spec(
    spec: ModelSpec,
    name: str = "model",
    *,
    directory: Path = Path("."),
    directories: Mapping[str, Path] | None = None,
) -> Resolved:
    """The specification with its places in its own text, and the problems of reading that text.

    `name` appears in messages. Its paths are relative to `directory`, or to the entries of `directories`.

    Raises TypeError for an object of another type, DcrfError for invalid fields.
    """
    spec = require_spec(spec)
    try:
        text = to_text(spec)
    except ValueError as error:  # the language cannot express it
        raise DcrfError(Diagnostic("bad-specification", f"model `{name}`: {error}")) from None
    read = load_text(text, f"<{name}>", directory=directory)
    diagnostics = read.diagnostics
    if not diagnostics and read.spec != spec:
        message = f"model `{name}` cannot be written as a template: a name or state holds a mark of the language"
        diagnostics = (Diagnostic("bad-name", message),)
    base_directories = read.directories if directories is None else directories
    return replace(read, diagnostics=diagnostics, directories=base_directories)


def require_spec(spec: ModelSpec) -> ModelSpec:
    """The specification, with the type of every field checked, which `model_copy` and the like do not do.

    Raises TypeError for an object of another type, DcrfError for invalid fields.
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
    """DcrfError if the checker refuses the template of a model file. Files that it names need not exist."""
    diagnostics = check(Resolved(spec), stage=stage or None, registered=None)
    errors = [replace(problem, location=file) for problem in diagnostics if problem.severity == "error"]
    if errors:
        raise DcrfError(errors)


def _misfit(problem: Mapping[str, Any]) -> Diagnostic:
    """`labels.0.name` is 5: input should be a valid string"""
    place = ".".join(str(part) for part in problem["loc"])
    value = repr(problem["input"])
    shown = value if len(value) <= 60 else f"{value[:57]}…"
    message = f"`{place}` of the specification is {shown}: {problem['msg'][:1].lower()}{problem['msg'][1:]}"
    return Diagnostic("bad-specification", message)
