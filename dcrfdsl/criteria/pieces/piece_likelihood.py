"""Piecewise training: the losses of pieces, each normalised over its own variables (McCallum & Sutton 2004).

    Σ_π −log p̃(y_π | y_N(π), x),    p̃ normalised over y_π, N(π) the other variables that the piece's cliques touch

and, with NOTA, the cases in which no outcome is right. Small pieces go through their joint states
(`kernels.piecewise.piece_losses`); those of larger ones are graphs of their own (`large_pieces`); one over `y[all]` is
a model of its own, of the same weights, and takes exact inference. Not here: which pieces a shorthand stands for
(`semantics.settings.piece_shorthands`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...arrays import Floats, Ints32
from ...errors import DcrfError, Diagnostic
from ...graph import UNKNOWN, ModelGraph, PieceTemplate, offsets, piece_templates
from ...inference import (
    METHODS,
    BoundData,
    PieceMethod,
    RunStatus,
    SharedPieceMethod,
    are_shared,
    local_decoding_cost,
    most_cases,
    no_cases,
    run_inference,
)
from ...kernels.piecewise import ALL, LISTED, MOST_SITES, ONE, SAMPLED, Cases, PieceInstances, likely_cases
from ...semantics import (
    AllCases,
    LikelyCases,
    ModelSpec,
    PieceSettings,
    SampledCases,
    TrainSettings,
    decode_rule,
    last_pieces,
)
from ..batches import SentenceBatches
from ..criterion import Criterion, Tightened
from ..free_and_clamped import Clamped
from ..likelihood import Likelihood
from ..penalties import Penalty
from ..supervision import Supervision
from .large_pieces import LargePieces

__all__ = ["PieceObjective", "build_piecewise", "local_pieces", "settled_decoding"]

Loss = Likelihood | LargePieces
LARGEST = 2**16  # joint states of a piece that are gone through one by one …
FASTER = 2**12  # … where inference on its graph cannot do instead, and from how many on it is used where it can
MOST_SEARCHED = 2**20  # entries of a table in the search for local labellings, where nobody asks for them


class PieceObjective(Criterion):
    """A sum of objectives over the same weights, and a penalty on those that one of them trains.

    trained [W] of each: 0 for weights of which it trains nothing (locked cliques, cliques of no piece).
    """

    inference_description = "pieces"
    penalty: Penalty

    def __init__(
        self, parts: Sequence[Loss], trained: Sequence[Floats], given: Supervision,
        settings: TrainSettings[PieceSettings],
    ):  # fmt: skip
        self.parts, self.trained, self._given, self._settings = parts, trained, given, settings
        self._is_trained = np.max(trained, axis=0)
        self.penalty = given.penalty(settings).masked(self._is_trained)
        self.num_weights, self.workers = parts[0].num_weights, given.workers
        self._hidden = bool((given.gold.codes < 0).any())
        nota = settings.criterion.nota
        self._choose = nota if isinstance(nota, LikelyCases) else None
        self.pause = None if self._choose is None else self._choose.after

    def advance(self, weights: Floats) -> None:
        """Chooses the cases in which NOTA is right, at the weights that were reached."""
        assert self._choose is not None
        method = self.parts[0].method
        assert isinstance(method, PieceMethod)
        method.cases = _chosen(self._given, self._settings, self._choose, method, weights)

    @property
    def tightened(self) -> Tightened | None:
        return next((found for part in self.parts if (found := part.tightened) is not None), None)

    @property
    def total_status(self) -> RunStatus:
        return sum((part.total_status for part in self.parts), start=RunStatus())

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """The losses of all pieces and the penalty, in nats, and the gradient [W]."""
        found = [part.value_and_gradient(weights) for part in self.parts]
        gradient = np.zeros_like(weights)
        penalty = self.penalty.add(weights, gradient)
        for mask, (_, own) in zip(self.trained, found, strict=True):
            gradient += mask * own
        return sum((value for value, _ in found), start=penalty), gradient

    def batches(self, size: int | None = None) -> SentenceBatches | None:
        """See `Likelihood.batches`. None where a piece is over whole sequences, or some weights are not trained; for a
        start also where an evaluation looks at no sentence.
        """
        part = self.parts[0]
        counts_only = isinstance(part.method, SharedPieceMethod)
        is_local = len(self.parts) == 1 and (isinstance(part.method, PieceMethod) or counts_only)
        if size is None and counts_only:
            return None
        if not is_local or self._hidden or self._choose is not None or not self._is_trained.all():
            return None
        return part.batches_under(self.penalty, size)

    def gap(self, gradient: Floats) -> float | None:
        """See `Likelihood.gap`."""
        if self._hidden or any(part.method.approximate for part in self.parts):
            return None
        return self.penalty.gap(gradient, self._is_trained > 0.0)

    def sharpen(self) -> bool:
        return sum(part.sharpen() for part in self.parts) > 0  # all of them

    def contradictions(self) -> tuple[int, ...]:
        return tuple(sorted({s for part in self.parts for s in part.contradictions()}))


def build_piecewise(
    given: Supervision, settings: TrainSettings[PieceSettings], templates: Sequence[PieceTemplate]
) -> PieceObjective:
    """The losses of these pieces under one penalty.

    Raises DcrfError where pieces are too large, have too many cases, or condition on what is not known.
    """
    own = settings.criterion
    whole = [template for template in templates if template.everywhere]
    parted = [template for template in templates if not template.everywhere]
    most = FASTER if own.nota is None else LARGEST
    large = [template for template in parted if _is_large(given.graph, template, most)]
    small = [template for template in parted if template not in large]
    if own.nota is not None and (large or whole):
        message = f"piece `{[*large, *whole][0].name}` has too many joint states for `nota`: {LARGEST:,} are possible"
        raise DcrfError(
            Diagnostic("piece-too-large", message, help="make it over fewer variables, or leave out `nota`")
        )
    divide = own.overlap == "divide"
    no_penalty = Penalty.none(given.parameters.num_weights)
    parts: list[Loss] = []
    trained: list[Floats] = []
    if small:
        data = given.bind(programs=False)

        def build(data: BoundData) -> PieceMethod:
            method = PieceMethod(data, small, given.gold, divide=divide, beside=large)
            method.cases = _cases(own, data, method.pieces)
            return method

        method = build(data)
        _refuse_cases(method, own)
        _refuse_unknown(given, method.pieces, data.rows.shape)
        own_method = SharedPieceMethod(method) if own.nota is None and are_shared(method) else method
        parts.append(Likelihood(data, own_method, no_penalty.precision, no_penalty, given.workers, build=build))
        trained.append(np.max([_mask(given, template) for template in small], axis=0))
    if large:
        part = LargePieces(given, settings, large, divide=divide, beside=small)
        _refuse_unknown(given, part.pieces, part.shape_of)
        parts.append(part)
        trained.append(np.max([_mask(given, template) for template in large], axis=0))
    for template in whole:
        parts.append(_whole(given, settings, template, no_penalty))
        trained.append(_mask(given, template))
    return PieceObjective(parts, trained, given, settings)


def _cases(own: PieceSettings, data: BoundData, pieces: PieceInstances) -> Cases:
    """The cases that NOTA begins with; those that a model chooses come later."""
    empty = no_cases(data.num_sequences)
    match own.nota:
        case AllCases(reach=reach):
            return empty._replace(mode=ALL if reach == "all" else ONE)
        case SampledCases(rate=rate, seed=seed):
            return empty._replace(mode=SAMPLED, rate=rate, seed=seed)
        case LikelyCases():
            instances = np.diff(pieces.instance_off)[data.rows.shape]
            first = offsets(instances)
            return empty._replace(mode=LISTED, instance=first, case_off=np.zeros(int(first[-1]) + 1, np.int64))
    return empty


def _chosen(
    given: Supervision, settings: TrainSettings, nota: LikelyCases, method: PieceMethod, weights: Floats
) -> Cases:
    """The cases whose marginal under the model is above the threshold."""
    inference = given.inference(settings)
    data = given.bind(programs=METHODS[inference.name].programs)
    whole = inference.build(data)
    out = run_inference(data, whole, data.potentials(weights), given.workers, marginals=True)
    own = method.data
    listed = likely_cases(
        own.shapes, own.rows, method.pieces, out.marginals, own.marginal_off, method.labelling, own.labelling_off,
        nota.threshold,
    )  # fmt: skip
    return Cases(LISTED, 0.0, 0, *listed)


def local_pieces(spec: ModelSpec, graph: ModelGraph, stage: str | None = None) -> list[PieceTemplate]:
    """The pieces that `decode local` goes by. DcrfError where there is none, or where one is too large for it."""
    pieces = last_pieces(spec, stage)
    if not pieces:
        message = "`decode local` needs a model that is trained in pieces"
        raise DcrfError(Diagnostic("no-pieces", message, help="train by `memm`, or by `piecewise` with pieces"))
    found = piece_templates(spec, graph, pieces)
    if any(template.everywhere for template in found):
        message = "`decode local` does not go by pieces over whole sequences"
        raise DcrfError(Diagnostic("no-pieces", message, help="write `decode joint`"))
    large = [template.name for template in found if _is_large(graph, template, LARGEST)]
    if large:
        message = f"`decode local` goes by pieces of at most {LARGEST:,} joint states, and `{large[0]}` has more"
        raise DcrfError(Diagnostic("piece-too-large", message, help="write `decode joint`"))
    return found


def settled_decoding(spec: ModelSpec, graph: ModelGraph, stage: str) -> str:
    """By which rule the labels of a stage are decoded, now that all sizes are known.

    `joint` in the place of a rule that nobody has written and that would not fit.
    """
    rule = decode_rule(spec, stage)
    if rule.name != "local" or rule.trained is None:
        return rule.name
    try:
        fits = local_decoding_cost(graph, local_pieces(spec, graph, stage)).largest <= MOST_SEARCHED
    except DcrfError:
        fits = False
    return rule.name if fits else "joint"


def _is_large(graph: ModelGraph, template: PieceTemplate, most: int) -> bool:
    """Whether a piece has more than `most` joint states, or too many variables to go through any."""
    joint = math.prod(graph.cards[variable] for variable, _ in template.over)
    return joint > most or len(template.over) > MOST_SITES


def _refuse_cases(method: PieceMethod, own: PieceSettings) -> None:
    if own.nota is None:
        return
    most = most_cases(method.data.shapes, method.pieces)
    if most > own.max_cases:
        message = f"a piece conditions on {most:,} joint values; `max_cases` is {own.max_cases:,}"
        remedy = "raise `max_cases`, let pieces condition on less, or use `nota = all(reach = one)`"
        raise DcrfError(Diagnostic("too-many-cases", message, help=remedy))


def _refuse_unknown(given: Supervision, pieces: PieceInstances, shape_of: Ints32) -> None:
    """What a piece conditions on must be known; only sentences that are partly known are looked at."""
    width, off = len(given.graph.cards), given.sentence_off
    for s in np.flatnonzero(~given.gold.complete_sentences(off)).tolist():
        instances = pieces.instance_off[shape_of[s] : shape_of[s] + 2]
        first, last = pieces.given_off[instances]
        used = np.unique(pieces.given[first:last])
        unknown = used[given.labelling[width * off[s] + used] < 0]
        if len(unknown):
            t, variable = divmod(int(unknown[0]), width)
            name = given.graph.variables[variable]
            message = f"a piece conditions on `{name}` at token {t + 1} of sentence {s + 1}, where it is not known"
            remedy = f"train by `likelihood` or `piecewise`, which sum it out, or make the piece over `{name}` as well"
            raise DcrfError(Diagnostic("piece-conditions-on-unknown", message, help=remedy))


def _mask(given: Supervision, template: PieceTemplate) -> Floats:
    """1 for the weights that a piece trains."""
    mask = np.zeros(given.parameters.num_weights)
    for clique, _, locked in template.members:
        if not locked:
            mask[given.parameters.of_clique(clique)] = 1.0
    return mask


def _whole(given: Supervision, settings: TrainSettings, template: PieceTemplate, penalty: Penalty) -> Likelihood:
    """A piece over whole sequences: the likelihood of a model with its cliques alone, given all other variables."""
    held = {clique for clique, *_ in template.members}
    kept = tuple(t for t in given.graph.templates if t.clique in held or t.clique < 0)
    codes = given.gold.codes.copy()
    codes[[variable for variable, _ in template.over]] = UNKNOWN
    part = replace(
        given,
        graph=replace(given.graph, templates=kept),
        gold=replace(given.gold, codes=codes),
    )
    inference = part.inference(settings)
    programs = METHODS[inference.name].programs
    data = part.bind_known(programs=programs)
    counts = np.zeros_like(given.counts)
    for clique in held:
        own = given.parameters.of_clique(clique)
        counts[own] = given.counts[own]
    partly = ~given.gold.complete_sentences(given.sentence_off)
    clamped = None
    if partly.any():
        known = replace(part, gold=given.gold).bind_known(programs=programs)
        clamped = Clamped(known, inference.build(known), partly)
    return Likelihood(data, inference.build(data), counts, penalty, given.workers, clamped)
