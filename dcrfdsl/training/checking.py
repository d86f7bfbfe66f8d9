"""The common front of the Python functions: a template in any form, and the checker that must approve it.

    dcrfdsl.check("chunker.dcrf", corpus)    -> errors, warnings and notes, in the order of the text

Training and tuning use this file too, so they accept the same templates. Not here: the rules
(`semantics.checks.checker`), what the command prints.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

from ..data import Corpus, StoredCorpus, check_gold, encode_labels, learn_states, read_corpus, variable_states
from ..features import RegisteredFeature
from ..foundation import CORPUS, DcrfError, Diagnostic, require_callable, require_kind
from ..semantics import ModelSpec, Resolved, check as check_template, check_or_raise, load_template, resolved_from_spec

_DATA = f"{CORPUS}, or its parts, as `open_parts` gives them"
_TEMPLATE = "a template: its path, what `load_template` or `load_text` gives, a `Template` or a ModelSpec"
_FUNCTIONS = "the functions marked with `@dcrfdsl.feature` by name, as `{f.name: f}`"


@runtime_checkable
class Writable(Protocol):
    """A model that can be written as a template, as `template.Template` can."""

    def resolved(self) -> Resolved: ...


Registered: TypeAlias = Mapping[str, RegisteredFeature]
AnyTemplate: TypeAlias = "str | os.PathLike[str] | Resolved | ModelSpec | Writable"


def check(
    template: AnyTemplate,
    data: Corpus | str | os.PathLike[str] | None = None,
    *,
    stage: str | None = None,
    registered: Mapping[str, RegisteredFeature] | None = None,
) -> tuple[Diagnostic, ...]:
    """The checker's errors, warnings and notes on a template, in the order of the text; all of them at once.

    template: its path, what `load_template` or `load_text` gives, a `Template` or a `ModelSpec`.
    data: training data, or its file. The template is checked against it, and its gold labels are checked too.
    stage: the training stage to run; by default the last one.
    registered: the feature functions of yours that the template calls, by name: `{f.name: f}`.

    Returns a `Diagnostic` each. Raises DcrfError where a file cannot be read; problems of the template are returned.

    >>> check("address.dcrf", "address.txt")
    ()
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
    diagnostics = check_template(resolved, stage=stage, corpus=corpus, registered=tuple(registered or ()))
    if corpus is None or any(diagnostic.severity == "error" for diagnostic in diagnostics):
        return diagnostics
    return (*diagnostics, *_wrong_gold(resolved, corpus, registered or {}))


def _read(path: str | os.PathLike[str], spec: ModelSpec) -> Corpus | None:
    """Reads data to check against. Columns of labels may be absent; the checker reports that."""
    if spec.data is None:
        return None
    return read_corpus(Path(path), spec.data, optional=[label.name for label in spec.labels])


def _wrong_gold(
    resolved: Resolved, corpus: Corpus, registered: Mapping[str, RegisteredFeature]
) -> Sequence[Diagnostic]:
    """Problems of the gold labels; those of constraints show only in the graph."""
    spec, directories = resolved.spec, resolved.directories
    try:
        states = variable_states(spec, learn_states(spec, corpus, directories), directories)
        complaints = check_gold(spec, states, corpus, encode_labels(spec, states, corpus, trains=True))
        if (spec.constraints or spec.onces) and not complaints:
            from .untrained_model import assemble  # loads the engine

            assemble(spec, corpus, directories, registered)
        return complaints
    except DcrfError as error:
        return error.diagnostics


def as_resolved(template: AnyTemplate, name: str = "model") -> Resolved:
    """A template in any form as `Resolved`, with source positions where known. TypeError for other types.

    name: the argument's name, for the message.
    """
    match template:
        case Resolved():
            return template
        case ModelSpec():
            return resolved_from_spec(template)
        case str() | os.PathLike():
            return load_template(os.fspath(template))
        case Writable() if not isinstance(template, type):
            return template.resolved()
    require_kind(template, (), name, _TEMPLATE)
    raise AssertionError(template)


def checker_warnings(
    resolved: Resolved,
    corpus: Corpus | StoredCorpus | None,
    *,
    stage: str | None = None,
    registered: Mapping[str, RegisteredFeature] | None = None,
) -> tuple[Diagnostic, ...]:
    """The checker's warnings on a template. DcrfError with all its diagnostics if one is an error."""
    diagnostics = check_or_raise(resolved, stage=stage, corpus=corpus, registered=tuple(registered or ()))
    return tuple(diagnostic for diagnostic in diagnostics if diagnostic.severity == "warning")


def require_arguments(
    corpus: object,
    stage: object,
    dev: object,
    registered: Mapping[str, RegisteredFeature] | None,
    **functions: object,
) -> None:
    """TypeError unless these arguments of `fit` have the right types. The messages name these parameters."""
    if not isinstance(corpus, StoredCorpus | None):
        require_kind(corpus, Corpus, "corpus", _DATA)
    require_kind(dev, (Corpus, type(None)), "dev", CORPUS)
    require_kind(stage, (str, type(None)), "stage", "the name of a training stage")
    require_registered(registered)
    for name, function in functions.items():
        require_callable(function, name)


def require_registered(registered: Mapping[str, RegisteredFeature] | None) -> None:
    """TypeError unless this maps names to marked functions, or is None."""
    require_kind(registered, (Mapping, type(None)), "registered", _FUNCTIONS)
    for function in (registered or {}).values():
        require_kind(function, RegisteredFeature, "registered", _FUNCTIONS)
