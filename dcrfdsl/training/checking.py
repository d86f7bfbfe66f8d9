"""The doors of Python: a model however it is given, and the checker, asked before anything is done with it.

    dcrfdsl.check("chunker.dcrf", corpus)    -> errors, warnings and notes, in the order of the text

Training and tuning come through here too, so that no door lets in what another refuses. Not here: the rules
(`semantics.checks.checker`), what the command prints.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

from ..data import Corpus, check_gold, encode_labels, learn_states, read_corpus, variable_states
from ..errors import CORPUS, DcrfError, Diagnostic, require_callable, require_kind
from ..features import RegisteredFeature
from ..semantics import ModelSpec, Resolved, check as check_template, check_or_raise, load_template, written

__all__ = ["Template", "approved", "as_resolved", "check", "require_arguments", "require_registered"]

_TEMPLATE = "a template: its path, what `load_template` or `load_text` gives, a `Model` or a ModelSpec"
_FUNCTIONS = "the functions marked with `@dcrfdsl.feature` by name, as `{f.name: f}`"


@runtime_checkable
class Writable(Protocol):
    """A model that can be written as a template, as `builder.Model` can."""

    def resolved(self) -> Resolved: ...


Template: TypeAlias = "str | os.PathLike[str] | Resolved | ModelSpec | Writable"


def check(
    template: Template,
    data: Corpus | str | os.PathLike[str] | None = None,
    *,
    stage: str | None = None,
    registered: Mapping[str, RegisteredFeature] | None = None,
) -> tuple[Diagnostic, ...]:
    """Everything that the checker says of a template: errors, warnings and notes, in the order of the text.

    data: training data, or its file, to check the template against: also that its gold labels can be trained on.
    stage: the training stage that is to run; by default the last one.   registered: the user's feature functions.

    Raises DcrfError where a file cannot be read; what is wrong with the template is in the answer.
    """
    require_registered(registered)
    try:
        resolved = as_resolved(template, "template")
    except DcrfError as error:
        if isinstance(template, str | os.PathLike):
            raise
        return error.diagnostics
    corpus = _read(data, resolved.spec) if isinstance(data, str | os.PathLike) else data
    require_kind(corpus, (Corpus, type(None)), "data", f"{CORPUS}, or a path")
    found = check_template(resolved, stage=stage, corpus=corpus, registered=tuple(registered or ()))
    if corpus is None or any(diagnostic.severity == "error" for diagnostic in found):
        return found
    return (*found, *_wrong_gold(resolved, corpus))


def _read(path: str | os.PathLike[str], spec: ModelSpec) -> Corpus | None:
    """Data to check against, in which labels may be absent: that is for the checker to say."""
    return None if spec.data is None else read_corpus(Path(path), spec.data, optional=[y.name for y in spec.labels])


def _wrong_gold(resolved: Resolved, corpus: Corpus) -> Sequence[Diagnostic]:
    """What keeps gold labels from being trained on, as far as the labels alone tell."""
    spec, directories = resolved.spec, resolved.directories
    try:
        states = variable_states(spec, learn_states(spec, corpus, directories), directories)
        return check_gold(spec, states, corpus, encode_labels(spec, states, corpus))
    except DcrfError as error:
        return error.diagnostics


def as_resolved(template: Template, name: str = "model") -> Resolved:
    """A template with what is known of its places. TypeError for anything else; `name` is the argument's."""
    match template:
        case Resolved():
            return template
        case ModelSpec():
            return written(template)
        case str() | os.PathLike():
            return load_template(os.fspath(template))
        case Writable() if not isinstance(template, type):
            return template.resolved()
    require_kind(template, (), name, _TEMPLATE)
    raise AssertionError(template)


def approved(
    resolved: Resolved,
    corpus: Corpus,
    *,
    stage: str | None = None,
    registered: Mapping[str, RegisteredFeature] | None = None,
) -> tuple[Diagnostic, ...]:
    """What the checker warns of. DcrfError with all it found if there is an error."""
    found = check_or_raise(resolved, stage=stage, corpus=corpus, registered=tuple(registered or ()))
    return tuple(diagnostic for diagnostic in found if diagnostic.severity == "warning")


def require_arguments(
    corpus: object,
    stage: object,
    dev: object,
    registered: Mapping[str, RegisteredFeature] | None,
    *functions: object,
) -> None:
    """TypeError unless these are what training takes. The names are those of its arguments."""
    require_kind(corpus, Corpus, "corpus", CORPUS)
    require_kind(dev, (Corpus, type(None)), "dev", CORPUS)
    require_kind(stage, (str, type(None)), "stage", "the name of a training stage")
    require_registered(registered)
    for function in functions:
        require_callable(function)


def require_registered(registered: Mapping[str, RegisteredFeature] | None) -> None:
    """TypeError unless these are marked functions by name, or None."""
    require_kind(registered, (Mapping, type(None)), "registered", _FUNCTIONS)
    for function in (registered or {}).values():
        require_kind(function, RegisteredFeature, "registered", _FUNCTIONS)
