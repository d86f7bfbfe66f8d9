"""`dcrfdsl schema`: JSON Schemas of what commands print for programs: `--json`, `check --format json`, `check --print
spec`.

An output that is a line an object has the schema of one line. A number is `null` where JSON has none for it: infinite,
or not defined. Tests hold the outputs to the schemas. Not here: the outputs themselves, which are in the commands.
Source: JSON Schema, draft 2020-12.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from .console import refuse
from .options import Argument

Schema = dict[str, Any]
DRAFT = "https://json-schema.org/draft/2020-12/schema"
TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
FROM_ONE: Schema = {"type": "integer", "minimum": 1}
NUMBER: Schema = {"type": ["number", "null"]}


def _maybe(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _list(of: Schema, length: int | None = None) -> Schema:
    return {"type": "array", "items": of} | ({} if length is None else {"minItems": length, "maxItems": length})


def _by_name(of: Schema) -> Schema:
    return {"type": "object", "additionalProperties": of}


def _object(optional: Mapping[str, Schema] | None = None, /, **required: Schema) -> Schema:
    """An object with these entries and no others; those of `optional` may be absent. `from_` is `from`."""
    named = {name.rstrip("_"): schema for name, schema in required.items()}
    return {
        "type": "object",
        "properties": {**named, **(optional or {})},
        "required": list(named),
        "additionalProperties": False,
    }


def _one_of(**kinds: Schema) -> Schema:
    """Lines of several kinds."""
    return {"anyOf": [{"title": name, **schema} for name, schema in kinds.items()]}


# check --------------------------------------------------------------------------------------------------------------

_PLACE = {
    "file": TEXT, "line": _maybe(FROM_ONE), "column": _maybe(FROM_ONE), "end_line": _maybe(FROM_ONE),
    "end_column": _maybe(FROM_ONE),
}  # fmt: skip
_DIAGNOSTIC = _object(
    severity={"enum": ["error", "warning", "note"]},
    slug=TEXT,
    message=TEXT,
    help=_maybe(TEXT),
    place=_maybe(_object(**_PLACE, words=TEXT)),
    related=_list(_object(**_PLACE, words=TEXT)),
    fix=_maybe(_object(**_PLACE, replacement=TEXT)),
)
_CLASS_COUNTS = _object(tokens=_by_name(COUNT), unlabelled=COUNT, segments=_by_name(COUNT))
_CHECK = _object(
    templates=_list(TEXT), errors=COUNT, warnings=COUNT, notes=COUNT, diagnostics=_list(_DIAGNOSTIC),
    classes=_list(_object(template=TEXT, labels=_by_name(_CLASS_COUNTS))),
)  # fmt: skip

# scores ---------------------------------------------------------------------------------------------------------------

_ROW = _object(precision=NUMBER, recall=NUMBER, f1=NUMBER, support=COUNT)
_CLASSES = {"type": "object", "properties": {"classes": _by_name(_ROW)}, "additionalProperties": _ROW}
_TABLES = _by_name(
    _object(
        {"by_type": _CLASSES},
        by_state=_CLASSES,
        confusion=_object(states=_list(TEXT), counts=_list(_list(COUNT)), unlabelled=_list(COUNT)),
    )
)
_MISTAKES = _list(
    _object(
        sentence=FROM_ONE,
        file=TEXT,
        line=COUNT,
        words=_maybe(_list(TEXT)),
        mistakes=_list(_object(token=FROM_ONE, label=TEXT, gold=TEXT, predicted=TEXT)),
    )
)
_SCORES = _by_name(NUMBER)
_CURVES = _by_name(
    _object(count=COUNT, area=NUMBER, at=_list(_object(probability=NUMBER, automatic=NUMBER, right=NUMBER)))
)
_EVAL = {
    "type": "object", "properties": {"tables": _TABLES, "errors": _MISTAKES, "confidence": _CURVES},
    "additionalProperties": NUMBER,
}  # fmt: skip
_FOLD = _object(
    number=FROM_ONE, sentences=COUNT, scores=_SCORES, seconds=NUMBER, iterations=COUNT, converged=FLAG,
    notes=_list(TEXT),
)  # fmt: skip
_CV = _object(
    folds=FROM_ONE,
    seed=COUNT,
    sentences=COUNT,
    tokens=COUNT,
    stages=_list(
        _object({"tables": _TABLES}, stage=TEXT, mean=_SCORES, deviation=_SCORES, scores=_SCORES, folds=_list(_FOLD))
    ),
)
_COMPARE = _object(
    {"areas": _by_name(_list(NUMBER))},
    models=_list(TEXT), labels=_list(TEXT), sentences=COUNT, tokens=COUNT,
    scores=_list(_object(
        name=TEXT, values=_list(NUMBER), intervals=_list(_list(NUMBER, 2)), p_values=_list(NUMBER),
        adjusted=_list(NUMBER),
    )),
    mcnemar=_list(_object(unit=TEXT, model=TEXT, only_first=COUNT, only_other=COUNT, p_value=NUMBER, adjusted=NUMBER)),
    errors=_list(_object(label=TEXT, type=TEXT, error=TEXT, counts=_list(COUNT))),
    error_differences=_list(_object(label=TEXT, type=TEXT, model=TEXT, first=TEXT, other=TEXT, places=FROM_ONE)),
    differing=_list(FROM_ONE),
)  # fmt: skip
_JUDGED = _object(
    count=COUNT,
    error=NUMBER,
    largest_error=NUMBER,
    brier=NUMBER,
    bins=_list(_object(from_=NUMBER, to=NUMBER, count=COUNT, confidence=NUMBER, accuracy=NUMBER)),
)
_THRESHOLD = _object(
    use=TEXT, of=TEXT, label=TEXT, type=TEXT, target=NUMBER, least=NUMBER, found=NUMBER, count=COUNT
)  # fmt: skip
_CALIBRATE = _one_of(
    calibration=_object(
        method=TEXT,
        temperature=NUMBER,
        judged=_object(bins=FROM_ONE, on=TEXT),
        kinds=_by_name(_object(before=_JUDGED, after=_JUDGED)),
    ),
    decisions=_object(assumes=TEXT, thresholds=_list(_THRESHOLD)),
)

# training -------------------------------------------------------------------------------------------------------------

_VALUES = _by_name({"type": ["number", "string", "boolean", "null"]})
_TRAIN = _one_of(
    iteration=_object(
        {"gradient_norm": NUMBER, "gap": NUMBER, "start": FROM_ONE, "dev": NUMBER, "metric": TEXT},
        iteration=COUNT, objective=NUMBER, seconds=NUMBER,
    ),
    trial=_object(
        {"stopped": FLAG, "bounded": _by_name(NUMBER)},
        trial=COUNT, values=_VALUES, dev=NUMBER, metric=TEXT, seconds=NUMBER,
    ),
    summary=_object(
        {"temperature": NUMBER, "tuned": _VALUES, "objective": NUMBER, "dev": NUMBER, "metric": TEXT},
        weights=COUNT, iterations=COUNT, converged=FLAG, seconds=NUMBER, peak_mb=NUMBER, stage=TEXT,
        model=TEXT,
    ),
)  # fmt: skip

# what a model says -----------------------------------------------------------------------------------------------

_WEIGHT = _object(clique=TEXT, feature=TEXT, states=_list(TEXT), weight=NUMBER)
_ROUND = _object(
    round=FROM_ONE, weight={"type": "integer", "minimum": -1}, step=NUMBER, bound=NUMBER, risk=NUMBER, clique=TEXT,
    feature=TEXT, states=_list(TEXT),
)  # fmt: skip
_MARGINALS = _by_name(_list(_maybe(_by_name(NUMBER))))
_SITES = _list({"type": "array", "prefixItems": [TEXT, FROM_ONE], "minItems": 2, "maxItems": 2})
_CLIQUE = _object(
    clique=TEXT,
    sites=_SITES,
    states=_list({"type": "array", "items": {"type": ["string", "number"]}}),
)
_TAG = _object(
    {
        "rank": COUNT, "score": NUMBER, "bound": NUMBER, "proven": FLAG, "probability": NUMBER,
        "layers": _by_name(NUMBER), "tokens": _by_name(_list(NUMBER)),
        "segments": _list(_object(label=TEXT, type=TEXT, first=FROM_ONE, last=FROM_ONE, probability=NUMBER)),
        "marginals": _MARGINALS, "cliques": _list(_CLIQUE), "sets": _by_name(_list(TEXT)),
        "verdicts": _by_name(_list(TEXT)),
    },
    file=TEXT, line=COUNT, sentence=FROM_ONE, labels=_by_name(_list(TEXT)),
)  # fmt: skip
_SUGGEST = _object(rank=FROM_ONE, file=TEXT, line=COUNT, sentence=FROM_ONE, tokens=FROM_ONE, score=NUMBER, exact=FLAG)
_CONTRIBUTION = _object(
    clique=TEXT, sites=_SITES, feature=TEXT, value=NUMBER, states=_list(_list(TEXT), 2), weights=_list(NUMBER, 2),
    score=NUMBER,
)  # fmt: skip
_WHY = _object(
    sentence=FROM_ONE, label=TEXT, position=FROM_ONE, chosen=TEXT, runner_up=TEXT, probabilities=_list(NUMBER, 2),
    labellings=_list(_by_name(_list(TEXT)), 2), margin=NUMBER, contributions=_list(_CONTRIBUTION),
    decisive=_list(_CONTRIBUTION), without=TEXT, exact=FLAG, converged=FLAG,
)  # fmt: skip
_EVENT = _object(event=TEXT, probability=NUMBER, log=NUMBER, log_not=NUMBER, exact=FLAG, converged=FLAG)
_PROBABILITY = _object(sentence=COUNT, events=_list(_EVENT))
_BOTH = _object(before=NUMBER, after=NUMBER)
_EXPORT = _object(files=_list(TEXT), bytes=_BOTH, weights=_BOTH, scores=_by_name(_BOTH))
_INFER = _object(
    {
        "log_z": NUMBER, "marginals": _list(_list(NUMBER)), "assignment": _list(COUNT), "score": NUMBER,
        "residual": NUMBER, "iterations": COUNT, "converged": FLAG,
    },
    task=TEXT, method=TEXT,
)  # fmt: skip


def _model() -> Schema:
    from ..semantics import ModelSpec, json_adapter

    schema: Schema = json_adapter(ModelSpec).json_schema(mode="serialization")
    return schema


# By the command; `model` is a `ModelSpec`, as `check --print spec` prints it.
SCHEMAS: Mapping[str, tuple[str, Schema | Callable[[], Schema]]] = {
    "model": ("`check --print spec`: a `ModelSpec`", _model),
    "check": ("`check --format json`", _CHECK),
    "train": ("a line of `train --json`: an iteration, a trial, or the summary at the end", _TRAIN),
    "cv": ("`cv --json`", _CV),
    "tag": ("a line of `tag --json`: a labelling of a sentence", _TAG),
    "suggest": ("a line of `suggest --json`: a sentence, best first", _SUGGEST),
    "eval": ("`eval --json`", _EVAL),
    "compare": ("`compare --json`", _COMPARE),
    "show": ("a line of `show --json`: a weight, or with `--path` a round", _one_of(weight=_WEIGHT, round=_ROUND)),
    "why": ("`why --json`", _WHY),
    "probability": ("a line of `probability --json`: the events of a sentence", _PROBABILITY),
    "calibrate": ("`calibrate --json`", _CALIBRATE),
    "export": ("`export --json`", _EXPORT),
    "infer": ("`infer --json`", _INFER),
    "compile": ("`compile --json`", _object(folder=TEXT, kernels=COUNT, compiled=COUNT, bytes=COUNT, seconds=NUMBER)),
}


def json_schema(name: str) -> Schema:
    """The schema of an output, whole: it refers to no other file.   name: one of `SCHEMAS`."""
    title, schema = SCHEMAS[name]
    written = schema() if callable(schema) else schema
    return {"$schema": DRAFT, "title": f"dcrfdsl: {title}", **{key: written[key] for key in written if key != "title"}}


# the command ---------------------------------------------------------------------------------------------------------


def schema(
    name: Annotated[str | None, Argument("[NAME]", help="A command with `--json`, `check`, or `model`.")] = None,
) -> None:
    """Print the JSON Schema of an output for programs."""
    from ..foundation import did_you_mean, spelling_remedy

    if name is None:
        width = max(map(len, SCHEMAS))
        for known, (title, _) in SCHEMAS.items():
            print(f"{known:<{width}}  {title}")
        return
    if name not in SCHEMAS:
        remedy = spelling_remedy(did_you_mean(name, SCHEMAS), f"there are schemas of {', '.join(SCHEMAS)}")
        refuse("unknown-schema", f"there is no schema `{name}`", remedy)
    print(json.dumps(json_schema(name), indent=2, ensure_ascii=False))
