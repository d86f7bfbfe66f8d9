"""What a report says of the model itself: its strongest weights, weights of transitions, training, versions and hashes.

Not here: how good it is (`report_findings`), the names of weights (`named_weights`), the page (`reporting`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data import Corpus
from ..foundation import Floats, Ints, figure
from ..graph import CliqueTemplate
from ..optimizers import Iteration
from .record import TrainingRecord, content_hash, versions
from .reporting import CurvePoint, StageRun, StrongWeights, TransitionWeights, setting_words

if TYPE_CHECKING:
    from .trained_model import TrainedModel

MOST_WEIGHTS = 20  # of a clique
MOST_STATES = 30  # of a heat map, on either side


# weights ----------------------------------------------------------------------------------------------------------


def strong_weights(model: TrainedModel) -> list[StrongWeights]:
    """The strongest weights of each clique. Cliques of one name come together."""
    numbers: dict[str, int] = {}
    for number, template in enumerate(model.graph.templates[: len(model.parameters.cliques)]):
        numbers[template.name] = numbers.get(template.name, 0) + len(model.parameters.of_clique(number))
    return [
        StrongWeights(name, total, [row[1:] for row in model.strongest_weights(MOST_WEIGHTS, name)])
        for name, total in numbers.items()
        if total
    ]


def transition_weights(model: TrainedModel) -> list[TransitionWeights]:
    """The bias weights of each clique of two sites."""
    found = []
    for number, clique in enumerate(model.parameters.cliques):
        template = model.graph.templates[number]
        if len(template.variables) == 2 and len(clique.bias):
            first = model.parameters.bias_start(number)
            weights = model.weights[first : first + len(clique.bias)]
            found.append(_transitions(model, template, np.asarray(clique.bias, np.int64), weights))
    return found


def _transitions(
    model: TrainedModel, template: CliqueTemplate, assignments: Ints, weights: Floats
) -> TransitionWeights:
    table = np.full(template.full_cards, np.nan)
    table[np.divmod(assignments, template.full_cards[1])] = weights
    views = template.views or (None, None)
    names = []
    for variable, view in zip(template.variables, views, strict=True):
        texts = model.states[model.graph.variables[variable]] if view is None else view.states
        names.append([*texts, *(("START", "STOP") if template.pad else ())])
    rows, columns = _largest(table), _largest(table.T)
    kept = [names[0][a] for a in rows.tolist()], [names[1][b] for b in columns.tolist()]
    hidden = len(names[0]) - len(rows), len(names[1]) - len(columns)
    sites = [
        f"{model.graph.variables[variable]}{f'[{offset}]' if offset else ''}"
        for variable, offset in zip(template.variables, template.offsets, strict=True)
    ]
    return TransitionWeights(template.name, (sites[0], sites[1]), kept, table[np.ix_(rows, columns)], hidden)


def _largest(table: Floats) -> Ints:
    """The rows with the weights of largest magnitude, in their order; rows without any weight are left out."""
    strength = np.nanmax(np.abs(np.nan_to_num(table, nan=-1.0)) * ~np.isnan(table), axis=1)
    used = np.flatnonzero(~np.isnan(table).all(axis=1))
    return np.sort(used[np.argsort(-strength[used], kind="stable")[:MOST_STATES]])


# training ---------------------------------------------------------------------------------------------------------


def stages_of(record: TrainingRecord) -> list[StageRun]:
    """The stages of a training, the first one first; none for a model that was not trained here."""
    runs = [_stage(dict(stored)) for stored in record.before]
    return [*runs, _stage(vars(record))] if record.stage else runs


def _stage(record: Mapping[str, Any]) -> StageRun:
    """A stage from the fields of its record, with types or as a model file keeps those of earlier stages."""
    settings = record["settings"]
    data = f"{record['sentences']:,} sentences, {record['tokens']:,} tokens"
    facts = [
        ("criterion", setting_words(settings.get("criterion", ""))),
        ("optimizer", setting_words(settings.get("optimizer", ""))),
        ("prior", setting_words(settings.get("prior", ""))),
        ("inference", record["inference"]),
        ("objective at the end", figure(record["objective"])),
        ("iterations", f"{record['iterations']:,}, with {record['evaluations']:,} evaluations"),
        ("converged", f"{'yes' if record['converged'] else 'no'}: {record['reason']}"),
        ("time", f"{record['seconds']:,.1f} s"),
        ("training data", data),
        ("hash of the training data", record["data_sha256"]),
    ]
    for name, field in (("gradient norm", "gradient_norm"), ("at most above the minimum", "gap")):
        if record.get(field) is not None:
            facts.append((name, f"{record[field]:.3g}"))
    return StageRun(record["stage"], facts, settings, list(record["notes"]), _curve(record.get("curve", ())))


def _curve(rows: Sequence[Sequence[Any]]) -> list[CurvePoint]:
    steps = (Iteration(*row) for row in rows)
    return [CurvePoint(step.iteration, step.objective, step.dev, step.start, step.metric) for step in steps]


# the record -------------------------------------------------------------------------------------------------------


def identity_of(model: TrainedModel, corpus: Corpus, seed: int) -> list[tuple[str, str]]:
    """Versions, hashes and seeds of a report and its model."""
    from .. import __version__

    record = model.record
    rows = [
        ("dcrfdsl", __version__),
        ("data", corpus.file),
        ("hash of the data, SHA-256", content_hash(corpus)),
        ("weights", f"{model.num_weights:,}"),
        ("hash of the weights, SHA-256", hashlib.sha256(model.weights.tobytes()).hexdigest()),
        ("decoding", f"{model.decode}, inference {model.inference_method}"),
        ("temperature of probabilities", f"{model.temperature:.6g}"),
        ("seed of the intervals", str(seed)),
    ]
    if "seed" in record.settings:
        rows.append(("seed of the training", str(record.settings["seed"])))
    if (fit := record.calibration) is not None:
        better = f"{figure(fit.before)} to {figure(fit.after)}"
        rows.append(("calibrated", f"on {fit.sentences:,} sentences, whose log-likelihood went from {better}"))
    if record.start is not None:
        rows.append(("start", record.start.description))
    rows += [(f"{name}, now", version) for name, version in versions().items()]
    return [*rows, *((f"{name}, at training", version) for name, version in record.versions.items())]
