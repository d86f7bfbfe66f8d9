"""Dynamic Conditional Random Fields: a declarative modelling language and its engine.

Everything public is here and is loaded when it is first asked for, so that `import dcrfdsl` costs next to nothing:

    import dcrfdsl

    m = dcrfdsl.Model("chunker")                      # a template written in Python (see `dcrfdsl.builder`)
    resolved = dcrfdsl.load_template("chunker.dcrf")  # or one read from a file
    spec = resolved.require()                         # the specification, or every problem of the file at once
    problems = dcrfdsl.check(resolved)                # errors, warnings and notes; `fit` asks for them as well
    corpus = dcrfdsl.read_corpus("train.txt", spec.data)
    trained = dcrfdsl.fit(resolved, corpus)           # `m.resolved()` does as well
    trained.save("chunker.model")                     # and `dcrfdsl.load` reads it
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from .builder import (
        Expression,
        Model,
        Position,
        Term,
        accuracy,
        all_of,
        any_of,
        apply,
        bias,
        bio,
        bioes,
        call,
        chars,
        feats,
        first,
        gaussian,
        if_else,
        index,
        last,
        lbfgs,
        length,
        locked,
        lower,
        positions,
        prefix,
        segments,
        shape,
        span,
        state_file,
        states_of,
        suffix,
    )
    from .data import corpus_from_frame, corpus_from_rows, read_corpus
    from .errors.problems import DcrfError, DcrfWarning
    from .features.values.registered import RegisteredFeature, feature
    from .model.trained_model import TrainedModel
    from .semantics.resolve.resolution import Resolved, load_template, load_text
    from .semantics.schema.model_spec import ModelSpec
    from .semantics.schema.unparse import to_text
    from .syntax.parser import parse
    from .training.checking import check
    from .training.pipeline import fit
    from .training.tuning import tune

__version__ = "0.1.0"

__all__ = [
    "DcrfError", "DcrfWarning", "Expression", "Model", "ModelSpec", "Position", "Resolved", "Term", "TrainedModel",
    "__version__", "accuracy", "all_of", "any_of", "apply", "bias", "bio", "bioes", "call", "chars", "check",
    "corpus_from_frame", "corpus_from_rows", "feats", "feature", "first", "fit", "gaussian", "if_else",
    "index", "last", "lbfgs", "length", "load", "load_template", "load_text", "locked", "lower", "parse",
    "positions", "prefix", "read_corpus", "segments", "shape", "span", "state_file", "states_of", "suffix",
    "to_text", "tune",
]  # fmt: skip

# Name → module; what is not listed comes from `builder`.
_HOMES = {
    "check": "training.checking",
    "corpus_from_frame": "data",
    "corpus_from_rows": "data",
    "read_corpus": "data",
    "DcrfError": "errors.problems",
    "DcrfWarning": "errors.problems",
    "ModelSpec": "semantics.schema.model_spec",
    "Resolved": "semantics.resolve.resolution",
    "TrainedModel": "model.trained_model",
    "feature": "features.values.registered",
    "fit": "training.pipeline",
    "load_template": "semantics.resolve.resolution",
    "load_text": "semantics.resolve.resolution",
    "parse": "syntax.parser",
    "to_text": "semantics.resolve.unparse",
    "tune": "training.tuning",
}


def load(path: str | Path, *, registered: Mapping[str, RegisteredFeature] | None = None) -> TrainedModel:
    """Read a model file: `TrainedModel.load`."""
    from .model.trained_model import TrainedModel

    return TrainedModel.load(path, registered=registered)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f".{_HOMES.get(name, 'builder')}", __name__), name)
    globals()[name] = found  # the next look-up does not come here
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
