"""Model files: writes the parts of a model, and reads them with a check that they fit together.

A file from an unknown source, or from a faulty program, may have a correct checksum. It is refused before anything is
computed with it, in one line about the first part that is wrong. Each part checks itself (`restore`); this module
checks what must hold between parts. Not here: the container (`file_format`), the checks that parts share
(`files.stored_arrays`).
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from .. import semantics
from ..features import FeatureExtractor, RegisteredFeature
from ..foundation import (
    DcrfError,
    Floats,
    IncompatibleState,
    StoredArrays,
    array,
    check_strings,
    check_within,
    data_error,
    pack_strings,
    typed,
    unpack_strings,
)
from ..graph import ModelGraph, Parameters, variable_names
from ..optimizers import Voters
from ..syntax import Cardinality, Enumerated, Label
from .file_format import model_bytes, read_model_bytes
from .predicting_model import PredictingModel, unusable_weight
from .record import TrainingRecord

Model = TypeVar("Model", bound=PredictingModel)

MOST_ASSIGNMENTS = 1 << 27  # of a clique: loading a model makes a table of them, of at most 1 GiB
MOST_SEEN = 2**61  # of a clique whose tables lattices never write out


class _Header(BaseModel, extra="forbid"):
    """The header of a model file. Its parts are checked later, together with those that they must fit."""

    template: str
    spec: dict[str, object]
    states: dict[str, list[str]]
    features: dict[str, object]
    known: list[str]
    record: dict[str, object]
    guides: list[str] = []


def model_as_bytes(model: PredictingModel) -> bytes:
    """The bytes of the model file."""
    return model_bytes(*stored_parts(model))


def stored_parts(model: PredictingModel) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """The arrays and the header of the model file. DcrfError where a weight is not usable."""
    for weights in (model.weights, *model.guides.values()):
        strange = unusable_weight(weights)
        if strange is not None:
            message = f"a weight is {strange}, and a model file has finite ones"
            raise data_error("not-finite", message, help="train the model again, by smaller steps")
    arrays: dict[str, NDArray[Any]] = {"weights": model.weights}
    arrays.update(model.parameters.arrays())
    arrays.update({f"features.{name}": array for name, array in model.extractor.arrays().items()})
    if model.voters is not None:
        arrays.update({f"voters.{name}": array for name, array in model.voters.arrays().items()})
    for number, weights in enumerate(model.guides.values()):
        used = np.flatnonzero(weights)  # a coarse stage leaves most weights 0
        arrays[f"guides.{number}.at"], arrays[f"guides.{number}.weights"] = used, weights[used]
    for column, values in model.known_values.items():
        arrays[f"known.{column}.bytes"], arrays[f"known.{column}.off"] = pack_strings(sorted(values))
    header = {
        "template": semantics.to_text(model.spec),
        "spec": model.spec.model_dump(mode="json"),
        "states": {label: list(states) for label, states in model.states.items()},
        "features": model.extractor.metadata(),
        "known": list(model.known_values),
        "record": asdict(model.record),
        **({"guides": list(model.guides)} if model.guides else {}),
    }
    return arrays, header


def model_from_bytes(
    make: type[Model], content: bytes, name: str, registered: Mapping[str, RegisteredFeature]
) -> Model:
    """The model in the bytes of a model file, without the checker. `name` appears in messages."""
    return model_of_parts(make, name, read_model_bytes(content, name), registered, unchecked=True)


def model_of_parts(
    make: type[Model],
    path: str | Path,
    content: tuple[dict[str, Any], dict[str, NDArray[Any]]],
    registered: Mapping[str, RegisteredFeature],
    *,
    unchecked: bool = False,
) -> Model:
    """The model of a file with this header and these arrays. DcrfError if it is not valid, or if `registered` lacks a
    function that it needs.

    make: the class of the model.   unchecked: leaves out the checker.
    """
    stored, arrays = content
    if "checkpoint" in stored:
        remedy = "go on with that training by `dcrfdsl train … --resume`; it writes the model when it ends"
        raise data_error("not-a-model", f"`{path}` is a checkpoint of a training, not a model", help=remedy)
    with _one_message(path):
        header = typed(_Header, stored, "header")
        spec = semantics.without_retired_settings(typed(semantics.ModelSpec, header.spec, "spec"))
        stage = _stage_of(spec, header.record)
    if not unchecked:
        semantics.approve_stored(spec, stage, str(path))
    with _one_message(path):
        return _restored(make, spec, header, StoredArrays(arrays), registered)


def _restored(
    make: type[Model], spec: semantics.ModelSpec, header: _Header, arrays: StoredArrays,
    registered: Mapping[str, RegisteredFeature],
) -> Model:  # fmt: skip
    states = {name: tuple(names) for name, names in header.states.items()}
    memory = semantics.segment_memory(spec)
    if memory is not None and memory.name not in states and states.get(memory.label):  # files of before leave it out
        states[memory.name] = semantics.segment_states(memory, states[memory.label]).names
    _check_states(spec, states)
    extractor = FeatureExtractor.restore(spec, arrays.part("features."), header.features, registered=registered)
    record = TrainingRecord.restore(header.record)
    graph = ModelGraph.of(spec, states, extractor.set_of_clique, extractor.bias_of_clique)
    graph.sweeps = record.sweeps
    num_features = [alphabet.num_features for alphabet in extractor.sets]
    parameters = Parameters.restore(arrays, graph.templates[: len(spec.cliques)], num_features)
    weights = array(arrays, "weights", np.float64)
    _check_weights(weights, parameters.num_weights)
    for done in record.path:
        if not -1 <= done.weight < len(weights):
            raise IncompatibleState(f"a round of boosting moved weight {done.weight}, and there are {len(weights):,}")
    voters = arrays.part("voters.")
    model = make(
        spec, states, extractor, _known_values(spec, header.known, arrays), graph, parameters, weights, record,
        Voters.restore(voters, len(weights)) if len(voters) else None,
        _guides(spec, record, header.guides, arrays, len(weights)),
    )  # fmt: skip
    arrays.check_all_read()
    return model


def _check_states(spec: semantics.ModelSpec, states: Mapping[str, tuple[str, ...]]) -> None:
    """`IncompatibleState` unless every variable has its declared states, every clique sites, and no clique more
    assignments than tables can hold.
    """
    if not all(clique.sites for clique in spec.cliques):
        raise IncompatibleState("a clique has no sites")
    if missing := [name for name in variable_names(spec) if not states.get(name)]:
        raise IncompatibleState(f"`{missing[0]}` has no state")
    names = variable_names(semantics.unrolled_spec(spec, states)[0])  # with the memories that `once` stands for
    if tuple(states) != names:
        raise IncompatibleState(f"there are states of {_listed(states)}, and the variables are {_listed(names)}")
    for name, listed in states.items():
        if not listed or len(set(listed)) < len(listed):
            raise IncompatibleState(f"`{name}` has a state twice" if listed else f"`{name}` has no state")
    for variable in spec.variables:
        others = variable.others if isinstance(variable, Label) else None
        match variable.domain:
            case Enumerated(states=declared):
                wanted: tuple[str, ...] = declared
            case Cardinality(count=count) if count <= len(states[variable.name]):
                wanted = tuple(map(str, range(count)))
            case Cardinality(count=count):
                raise IncompatibleState(f"`{variable.name}` has {len(states[variable.name])} states, expected {count}")
            case _:
                continue
        wanted = tuple(dict.fromkeys((*wanted, *([] if others is None else [others]))))
        if states[variable.name] != wanted:
            raise IncompatibleState(f"the states of `{variable.name}` are not those that are declared")
    most = max(map(len, states.values()), default=0)
    seen_as = {view.name for view in spec.views}
    for clique in spec.cliques:
        if strange := [site.variable for site in clique.sites if site.variable not in (*states, *seen_as)]:
            raise IncompatibleState(f"clique `{clique.label}` is over `{strange[0]}`, which is no variable")
        sizes = [len(states.get(site.variable, ())) or most for site in clique.sites]  # a view has no more states
        most_here = MOST_SEEN if clique.states == "seen" and not clique.features else MOST_ASSIGNMENTS
        if math.prod(size + 2 for size in sizes) > most_here:
            raise IncompatibleState(f"clique `{clique.label}` has too many assignments")


def _listed(names: Mapping[str, object] | tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def _check_weights(weights: Floats, expected: int) -> None:
    """`IncompatibleState` unless there are `expected` weights, and all are usable."""
    if len(weights) != expected:
        raise IncompatibleState(f"there are {len(weights):,} weights, expected {expected:,}")
    strange = unusable_weight(weights)
    if strange is not None:
        raise IncompatibleState(f"a weight is {strange}, expected finite ones")


def _stage_of(spec: semantics.ModelSpec, record: Mapping[str, object]) -> str:
    """The stage of the stored record; `IncompatibleState` if the template does not have it."""
    stage = record.get("stage", "")
    if not isinstance(stage, str):
        raise IncompatibleState("`record.stage` is no text")
    if stage and stage not in {entry.label for entry in spec.stages or (semantics.DEFAULT_STAGE,)}:
        raise IncompatibleState(f"the record is of a stage `{stage}`, which the template does not have")
    return stage


def _guides(
    spec: semantics.ModelSpec, record: TrainingRecord, stages: list[str], arrays: StoredArrays, num_weights: int
) -> dict[str, Floats]:
    """The weights of the stages that prune; `IncompatibleState` unless they are those that tagging needs."""
    trained = [entry.label for entry in semantics.stage_chain(spec, record.stage)] if record.stage else []
    needed = [stage for stage in semantics.guiding_stages(spec) if stage in trained]
    if stages != needed:
        raise IncompatibleState(f"there are weights of the pruning stages {stages}, and inference needs {needed}")
    guides = {}
    for number, stage in enumerate(stages):
        at = array(arrays, f"guides.{number}.at", np.int64)
        own = array(arrays, f"guides.{number}.weights", np.float64)
        if len(at) != len(own) or (np.diff(at) <= 0).any():
            raise IncompatibleState(f"the weights of the stage `{stage}` are in disorder")
        check_within(at, 0, num_weights, f"guides.{number}.at")
        guides[stage] = np.zeros(num_weights)
        guides[stage][at] = own
        _check_weights(guides[stage], num_weights)
    return guides


def _known_values(spec: semantics.ModelSpec, columns: list[str], arrays: StoredArrays) -> dict[str, frozenset[str]]:
    known = {}
    for column in columns:
        if spec.column(column) is None:
            raise IncompatibleState(f"values of `{column}` are known, which is no column")
        data, off = array(arrays, f"known.{column}.bytes", np.uint8), array(arrays, f"known.{column}.off", np.int64)
        check_strings(data, off, f"known.{column}.off")
        known[column] = frozenset(unpack_strings(data, off))
    return known


@contextmanager
def _one_message(path: str | Path) -> Iterator[None]:
    """Turns every error about a part into one line about the file."""
    remedy = "copy it again from where it came, or train it again"
    try:
        yield
    except RecursionError:
        message = f"`{path}` is not a sound model: its template is nested too deeply"
        raise data_error("corrupt-model", message, file=os.fspath(path), help=remedy) from None
    except DcrfError as error:
        if any(diagnostic.slug == "missing-feature-function" for diagnostic in error.diagnostics):
            raise
        message = f"`{path}` is not a sound model: {error.diagnostics[0].message}"
        raise data_error("corrupt-model", message, file=os.fspath(path), help=remedy) from None
