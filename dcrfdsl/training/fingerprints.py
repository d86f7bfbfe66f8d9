"""The fingerprint of a training: what must be the same for it to go on from a checkpoint, and in words what is not.

    what a person gives:       template, stages, data, lexicons, files of states, own functions, a model to start from
    what training makes of it: the features and the numbers of their weights; where own functions run, their results

The second part catches what the first cannot see, such as a function that an own function calls. It is said only where
nothing else differs, since most changes of a file show in it too. Not here: the file (`checkpoints`).
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..criteria import TrainingProblem
from ..data import Corpus
from ..features import Lexicon
from ..model import TrainedModel, TrainingData, content_hash
from ..semantics import Label, Latent, Memory, ModelSpec, StateFile, to_text
from .parts import PartedSupervision, read_compiled

_NAMED_ABOVE = ("lexicons", "registered_texts")  # of the metadata of features
_MADE = ("features", "features of the training data")  # the second part of a fingerprint


def fingerprint_of(
    spec: ModelSpec,
    stages: list[str],
    corpus: TrainingData,
    dev: Corpus | None,
    start: TrainedModel | None,
    model: TrainedModel,
    supervision: TrainingProblem,
) -> dict[str, str]:
    """What must be the same for a training to go on, as texts by name.

    model, supervision: as training begins with them.
    """
    own_functions = model.extractor.registered
    return {
        "template": to_text(spec),
        "stages": ", ".join(stages),
        "training data": content_hash(corpus),
        "held-out data": "" if dev is None else content_hash(dev),
        "model to start from": "" if start is None else _hash_of([start.weights, model.weights]),
        "version of dcrfdsl": version("dcrfdsl"),
        **dict(_files(model)),
        **{f"feature function `{name}`": one.text_hash for name, one in own_functions.items() if one.text_hash},
        "features": f"{model.num_weights:,} {_hash_of_features(model)}",
        **({"features of the training data": _hash_of(_rows(supervision))} if own_functions else {}),
    }


def _files(model: TrainedModel) -> Iterator[tuple[str, str]]:
    """The contents of the files that the template names."""
    spec, lexicons = model.spec, model.extractor.lexicons.by_name
    for declared in spec.lexicons:
        yield f"lexicon `{declared.name}` in `{declared.path}`", _hash_of_lexicon(lexicons[declared.name])
    variables: tuple[Label | Latent | Memory, ...] = (*spec.labels, *spec.latents, *spec.memories)
    for variable in variables:
        if isinstance(variable.domain, StateFile):
            states = json.dumps(model.states[variable.name])
            yield f"states of `{variable.name}` in `{variable.domain.path}`", _hash_of_texts([states])


def _hash_of_lexicon(lexicon: Lexicon) -> str:
    """Of what is looked up, so that blank lines and the ends of lines do not count."""
    return _hash_of_texts([json.dumps([lexicon.entries, lexicon.values])])


def _hash_of_features(model: TrainedModel) -> str:
    """Of all features, states and weights: texts, numbers and assignments."""
    extractor, cliques = model.extractor, model.parameters.cliques
    metadata = {name: value for name, value in extractor.metadata().items() if name not in _NAMED_ABOVE}
    texts = json.dumps([metadata, {name: list(states) for name, states in model.states.items()}])
    arrays = [array for _, array in sorted(extractor.arrays().items())]
    weights = [array for one in cliques for array in (one.bias, one.run_off, one.entry)]
    return _hash_of([np.frombuffer(texts.encode(), np.uint8), *arrays, *weights])


def _rows(supervision: TrainingProblem) -> Iterator[NDArray[Any]]:
    """The features of all positions of the training data, and the pairs of relational cliques."""
    parts: Iterable[Any] = [supervision]
    if isinstance(supervision, PartedSupervision) and supervision.learned is not None:
        parts = map(read_compiled, supervision.learned.paths)
    for part in parts:
        for fields in (*part.rows, *part.relations.values()):
            yield from (one for one in fields if isinstance(one, np.ndarray))


def _hash_of(arrays: Iterable[NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(str((array.dtype, array.shape)).encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _hash_of_texts(texts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()


# what differs ---------------------------------------------------------------------------------------------------------


def differences(before: Mapping[str, Any], now: Mapping[str, str]) -> list[str]:
    """In words, what is not as it was."""
    names = [name for name in {**now, **before} if str(before.get(name, "")) != now.get(name, "")]
    given = [name for name in names if name not in _MADE]
    found = [_difference(name, str(before.get(name, "")), now.get(name, "")) for name in given or names[:1]]
    if names and not given and _MADE[1] in now:
        found.append("what your feature functions call or read may have changed")
    return found


def _difference(name: str, before: str, now: str) -> str:
    """In words, what is not as it was."""
    if name == "template":
        return _changed_line(before, now)
    if name == "version of dcrfdsl":
        return f"dcrfdsl {before or '0'} wrote it, and this is {now}"
    if name == "stages":
        return f"it ran the stages {before}, and now {now} would run"
    if name == "features":
        had, has = before.partition(" ")[0] or "0", now.partition(" ")[0]
        counts = f": it had {had} weights, and now there are {has}" if had != has else ""
        return f"the features or their weights are not the same{counts}"
    if not before or not now:
        article = "no" if not before else "" if name.startswith("states") else "a"
        is_there = "none" if not now else "one"
        return f"it had {article} {name}, and now there is {is_there}".replace("  ", " ")
    return f"the {name} {'is' if name.startswith(('model', 'lexicon', 'feature ')) else 'are'} not the same"


def _changed_line(before: str, now: str) -> str:
    """The first line of a template that is not as it was."""
    lines = [
        line for line in difflib.ndiff(before.splitlines(), now.splitlines()) if line[:2] in ("- ", "+ ") and line[2:]
    ]
    was = next((line[2:].strip() for line in lines if line[0] == "-"), "")
    became = next((line[2:].strip() for line in lines if line[0] == "+"), "")
    if was and became:
        return f"the template or a setting had `{was}` and has `{became}`"
    return f"the template or a setting had `{was}`" if was else f"the template or a setting now has `{became}`"
