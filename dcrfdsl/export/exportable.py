"""Which models can be exported, and with which weights.

A program can follow exact inference, labels that one set of weights decides, and features that are built in. Each
refusal is one message that names the statement. Lighter weights: the small ones left out, the others rounded to fewer
bits. Not here: patterns and functions (`exported_nodes`), which are refused where they are written down; what lighter
weights cost (`metrics`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..foundation import data_error, figure
from ..model import TrainedModel
from ..semantics import inference_settings
from .standalone import CHECKS

INSTEAD = "tag with `dcrfdsl tag`"


def refuse_unless_exportable(model: TrainedModel) -> None:
    """DcrfError `cannot-export` about the first statement of the model that an exported tagger cannot follow."""
    for message, remedy in _obstacles(model):
        raise data_error("cannot-export", f"the model cannot be exported: {message}", help=remedy)


def _obstacles(model: TrainedModel) -> Iterator[tuple[str, str]]:
    """What the program cannot follow, each with a remedy."""
    spec, extractor, trained = model.spec, model.extractor, f"`train {model.record.stage}`"
    if spec.data is None:
        yield "it has no `data` statement, which says what a sentence consists of", "add one"
        return
    for column in spec.data.columns:
        if column.type.name not in CHECKS:
            yield f"`data {spec.data.format}` has the column `{column.name}` of type `{column.type.name}`", INSTEAD
    if extractor.kinds:
        names = ", ".join(f"`{name}`" for name in extractor.kinds)
        yield f"its features call functions of yours, {names}", f"train without them, or {INSTEAD}"
    for clique in spec.cliques:
        if clique.relational:
            message = (
                f"`clique {clique.label}` joins positions by `where`, so that every sentence has a graph of its own"
            )
            yield message, f"leave out that clique, or {INSTEAD}"
    yield from _of_inference(model)
    yield from _of_decoding(model)
    for kernel in extractor.observation_kernels:
        compared = f"compares `clique {spec.cliques[kernel.clique].label}` with {kernel.size:,} support vectors"
        yield f"{trained} {compared} by a kernel", f"train with a linear kernel, or {INSTEAD}"
    if any(len(conjunctions.members) for conjunctions in extractor.conjunctions):
        remedy = f"write them as crosses (`a & b`), which `dcrfdsl show` lists, or {INSTEAD}"
        yield f"{trained} has induced conjunctions of features", remedy


def _of_inference(model: TrainedModel) -> Iterator[tuple[str, str]]:
    settings = inference_settings(model.spec)
    remedy = f"train with `infer exact`, or {INSTEAD}"
    if settings.method not in ("exact", "auto"):
        yield f"`infer {settings.method}` is not exact inference", remedy
    if model.inference_method == "automaton":
        yield "exact inference is possible by an automaton alone, which exported programs do not have", remedy
    elif model.inference_method != "exact":
        cost = model.graph.exact_cost
        message = f"`infer auto` passes messages: exact inference would need tables of {cost.largest:,.0f} entries"
        yield f"{message} and {figure(cost.work)} multiplications a token", remedy


def _of_decoding(model: TrainedModel) -> Iterator[tuple[str, str]]:
    stage = f"`train {model.record.stage}`" if model.record.stage else "its training"
    if model.decode == "local":
        yield f"{stage} decodes by the local distributions of pieces (`decode local`)", INSTEAD
    if model.decode.startswith("fscore("):
        message = f"`decode {model.decode}` weighs whole segments, which exported programs do not"
        yield message, f"write `decode joint`, or {INSTEAD}"
    if model.keeps_once_by_search:
        message = f"`once {model.spec.onces[0].label}` is kept by a search, which exported programs do not have"
        yield message, f"bind fewer types by `except`, or {INSTEAD}"
    if model.voters is not None and model.decode == "joint":
        message = f"{stage} lets {len(model.voters):,} weight vectors vote (`vote = yes`)"
        yield message, "train without `vote`: then the mean of the vectors gives the labels"
    if model.graph.num_latents and model.decode == "joint" and not model.sums_latents_first:
        name = model.graph.variables[model.graph.latents[0]]
        message = f"`latent {name}` cannot be summed out before the labels, as `decode joint` has to"
        yield message, f"write `decode marginal`, or {INSTEAD}"


# lighter weights -----------------------------------------------------------------------------------------------------


WIDTHS = (64, 32, 16)  # bits of a weight


class Lighter(NamedTuple):
    """What `lighter` makes.

    model: with the lighter weights.   threshold: weights of features below it are left out.   pruned: how many.
    """

    model: TrainedModel
    threshold: float
    pruned: int


def lighter(model: TrainedModel, *, bits: int = 64, threshold: float = 0.0, share: float = 0.0) -> Lighter:
    """The model without the weights of features whose magnitude is below `threshold`, rounded to `bits`.

    The weights of stages that prune for the model are treated in the same way.

    share: from 0 to 1, of these weights that are not 0, to be left out, the smallest first; raises `threshold`. Biases
    are kept. Raises DcrfError if a weight is too large for 16 bits, if all are too small for them, or if labels go by
    the votes of many weight vectors, which stay as they are.
    """
    if model.voters is not None and (bits < 64 or threshold > 0 or share > 0):
        message = "many weight vectors vote on labels (`vote = yes`), and these are neither rounded nor pruned"
        raise data_error("cannot-export", message, help="leave out `--bits` and `--prune`, or train without `vote`")
    first = model.parameters.num_bias
    weights = model.weights.copy()
    of_features = weights[first:]
    if share > 0 and len(of_features):
        sizes = np.sort(np.abs(of_features[of_features != 0]))
        dropped = int(share * len(sizes))
        threshold = max(threshold, float(sizes[dropped]) if dropped < len(sizes) else np.inf)
    small = np.abs(of_features) < threshold
    pruned = int(np.count_nonzero(small & (of_features != 0)))
    of_features[small] = 0.0
    kind = np.dtype(f"f{bits // 8}")
    guides = {stage: own.copy() for stage, own in model.guides.items()}
    for own in guides.values():
        own[first:][np.abs(own[first:]) < threshold] = 0.0
    finite = np.concatenate([own[np.isfinite(own)] for own in (weights, *guides.values())])
    largest = float(np.abs(finite).max(initial=0.0))
    most, least = float(np.finfo(kind).max), float(np.finfo(kind).tiny)
    if largest > most:
        message = f"a weight is {largest:.6g}, and {bits} bits hold at most {most:,.0f}"
        raise data_error("cannot-export", message, help="export with `--bits 32`")
    if bits < 64 and 0.0 < largest < least:  # below, digits go one after another, until all weights are 0
        message = f"the largest weight is {largest:.6g}, and {bits} bits keep all their digits from {least:.2g} on"
        raise data_error("cannot-export", message, help=f"export with `--bits {2 * bits}`")
    if bits < 64:
        weights = weights.astype(kind).astype(np.float64)
        guides = {stage: own.astype(kind).astype(np.float64) for stage, own in guides.items()}
    made = replace(model.with_weights(weights, model.record, model.voters), guides=guides)
    return Lighter(made, threshold, pruned)
