"""What reports and notebooks say of a model itself: its strongest weights, transitions, training, versions and hashes.

Not here: how good it is (`report_findings`), names of weights (`model_explanations`), blocks of pages (`reporting`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from ..data import Corpus
from ..foundation import Block, Floats, Fold, Ints, Paragraph, TextTable, figure, notebook_html
from ..graph import CliqueTemplate
from ..semantics import template_listing, to_text
from .model_explanations import ModelExplanations
from .predicting_model import PredictingModel
from .record import content_hash, versions
from .reporting import StrongWeights, TransitionWeights, training_blocks, transition_blocks

MOST_WEIGHTS = 20  # of a clique
MOST_STATES = 30  # of a heat map, on either side
MOST_SORTED = 5_000_000  # weights among which notebooks look for the strongest, within a second or so
MOST_NAMED = 12  # states of a label
MOST_MAPS = 5  # of transitions


def strong_weights(model: PredictingModel) -> list[StrongWeights]:
    """The strongest weights of each clique. Cliques of one name come together."""
    numbers: dict[str, int] = {}
    for number, template in enumerate(model.graph.templates[: len(model.parameters.cliques)]):
        numbers[template.name] = numbers.get(template.name, 0) + len(model.parameters.of_clique(number))
    return [
        StrongWeights(name, total, [row[1:] for row in ModelExplanations(model).strongest_weights(MOST_WEIGHTS, name)])
        for name, total in numbers.items()
        if total
    ]


def transition_weights(model: PredictingModel) -> list[TransitionWeights]:
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
    model: PredictingModel, template: CliqueTemplate, assignments: Ints, weights: Floats
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


def identity_of(model: PredictingModel, corpus: Corpus, seed: int) -> list[tuple[str, str]]:
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


def model_html(model: PredictingModel) -> str:
    """What a model consists of: facts, its strongest weights, and on demand transitions, training and template."""
    record = model.record
    facts = [
        *((f"label {label}", _states(model.states[label])) for label in model.labels),
        *((name, _states(states)) for name, states in model.states.items() if name not in model.labels),
        ("weights", f"{model.num_weights:,}"),
        ("inference", model.inference_method),
        ("decoding", model.decode),
    ]
    if record.stage:
        how = "converged" if record.converged else "not converged"
        facts.append((f"stage {record.stage}", f"{record.end} after {record.iterations:,} iterations, {how}"))
    blocks: list[Block] = [TextTable("A trained model", ["what", "value"], facts, (0, 1)), *_strongest(model)]
    if maps := transition_weights(model):
        shown = transition_blocks(maps[:MOST_MAPS])
        if len(maps) > MOST_MAPS:
            shown.append(Paragraph(f"{len(maps) - MOST_MAPS:,} more cliques are left out.", kind="note"))
        blocks.append(Fold("Transitions", shown))
    blocks.append(Fold("Training", training_blocks(record.stages, record.tuning.get("trials", ()))))
    return notebook_html([*blocks, Fold("Template", [template_listing(to_text(model.spec))])])


def _states(states: Sequence[str]) -> str:
    more = f" … and {len(states) - MOST_NAMED:,} more" if len(states) > MOST_NAMED else ""
    return f"{len(states):,} states: {' '.join(states[:MOST_NAMED])}{more}"


def _strongest(model: PredictingModel) -> Iterator[Block]:
    if model.num_weights > MOST_SORTED:
        yield Paragraph(
            "`explanations.strongest_weights(20)` lists the strongest weights: they are too many to be sorted here."
        )
        return
    rows = [
        [clique, feature, " ".join(states), f"{weight:+.4f}"]
        for clique, feature, states, weight in ModelExplanations(model).strongest_weights(MOST_WEIGHTS)
    ]
    if rows:
        caption = f"The strongest {len(rows):,} of {model.num_weights:,} weights"
        yield Fold(caption, [TextTable(caption, ["clique", "feature", "states", "weight"], rows, (0, 1, 2))])
