"""Piecewise training: the losses of pieces, each normalised over its own variables (McCallum & Sutton 2004).

    Σ_π −log p̃(y_π | y_N(π), x),    p̃ normalised over y_π, N(π) the other variables that the piece's cliques touch

and, with NOTA, the cases in which no outcome is right. Kernels enumerate the joint states of small pieces
(`kernels.piecewise.piece_losses`). Each instance of a larger piece is a graph, with exact inference on it:

    Σ_π [log Z_π(y*_N) − log Z_π(y*_N, y_π as known)],    Z_π: of the graph of instance π, its condition clamped

Where all variables of an instance are known, the second term is the score of the gold labels, which is linear in the
weights; elsewhere the unknown ones are summed out. A piece over `y[all]` is a model with the same weights, under the
inference of the stage.

The objective of pieces that share no weight is a sum of functions of different weights (§2: parameters of factors that
are never in a common piece are independent). Their losses are minimised one after another, each over separate weights
and tables: most parts need fewer steps than the slowest one, and each step computes one part's tables. Weights that no
piece trains are in no part, and keep their values. Not here: the pieces that a shorthand stands for
(`semantics.settings.piece_shorthands`), the graphs (`graph.large_piece_graphs`), the order of work
(`optimizers.separable`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from .. import graph
from ..foundation import DcrfError, Diagnostic, Floats, Ints, Ints32, Mask, data_error
from ..inference import (
    METHODS,
    Binder,
    BoundData,
    Expectations,
    MarginalInference,
    PieceInstanceMethod,
    PieceMethod,
    RunStatus,
    SharedPieceMethod,
    are_shared,
    bind_instances,
    instance_importance,
    is_large_piece,
    largest_table,
    most_cases,
    no_cases,
    run_inference,
    weighted,
)
from ..kernels.piecewise import ALL, LISTED, ONE, SAMPLED, Cases, PieceInstances, likely_cases
from ..kernels.tables import add_bias_gradient
from ..semantics import (
    AllCases,
    ExactSettings,
    GaussianPrior,
    LikelyCases,
    PieceSettings,
    SampledCases,
    TrainSettings,
    inference_settings,
    pieces_of,
)
from .batches import SentenceBatches
from .criterion import Clamped, Criterion, SummedCriterion
from .likelihood import Likelihood, build_weighted, clamped_by, known_counts, known_fixed
from .penalties import Penalty
from .soft_labels import refuse_impossible, refuse_mixture
from .training_problem import TrainingProblem

# pieces with too many joint states to enumerate -----------------------------------------------------------------------


class LargePieces(Criterion):
    """Objective over the instances of `templates` in one data set, without a penalty.

    divide: whether a clique instance in n pieces, those of `beside` included, counts 1/n in each.   pieces: the
    instances on every shape.   shape_of: the shape of each sentence.
    """

    def __init__(
        self,
        problem: TrainingProblem,
        settings: TrainSettings,
        templates: Sequence[graph.PieceTemplate],
        *,
        divide: bool,
        beside: Sequence[graph.PieceTemplate],
    ):
        exact = ExactSettings(max_table=largest_table(settings.infer or inference_settings(problem.spec)))
        binder = Binder(problem.graph, problem.parameters, programs=False)
        sentences = binder.bind(problem.rows, problem.sentence_off, problem.relations)
        shapes, self.shape_of = sentences.bank.shapes, sentences.rows.shape
        self.pieces = graph.piece_arrays(problem.graph, shapes, templates, divide=divide, beside=beside)
        if not len(self.pieces.template):
            message = f"no sentence has an instance of piece `{templates[0].name}`"
            raise DcrfError(Diagnostic("piece-without-instance", message, help="make it over positions less far apart"))
        model = graph.role_model(problem.graph, problem.parameters, graph.roles_of(problem.graph, shapes, self.pieces))
        graphs = graph.piece_graphs(
            problem.graph, shapes, self.pieces, model, problem.gold, num_sets=len(problem.rows),
            max_table=exact.max_table,
        )  # fmt: skip
        counts = np.diff(self.pieces.instance_off)[self.shape_of]
        first = graph.offsets(counts)
        self.sentence = np.repeat(np.arange(len(counts)), counts)
        turn = np.arange(first[-1]) - first[self.sentence]
        instance = self.pieces.instance_off[self.shape_of[self.sentence]] + turn
        free, known = bind_instances(
            graphs, model, problem.rows, problem.gold, problem.sentence_off, problem.relations,
            self.sentence, instance,
        )  # fmt: skip
        free = free.packed(bundled=True)
        self.num_weights, self.workers = problem.parameters.num_weights, problem.workers
        self._weight, self._share, self._trained = model.weight, model.share, model.trained
        tokens = problem.token_importance(settings)
        factor = None if tokens is None else instance_importance(sentences, self.pieces, tokens).value
        partly, method = self._partly(problem, instance), weighted(PieceInstanceMethod(known, exact), known, factor)
        gold_counts, fixed, self._impossible = _counts(Clamped(known, method, ~partly))
        clamped = Clamped(known, method, partly) if partly.any() else None
        free_method = weighted(PieceInstanceMethod(free, exact), free, factor)
        nothing = Penalty.none(len(model.weight))
        self._instances = Likelihood(free, free_method, gold_counts, nothing, problem.workers, clamped, fixed=fixed)

    def _partly(self, problem: TrainingProblem, instance: Ints) -> Mask:
        """Whether some variable of each instance is not known, [n]; variables that it conditions on do not matter."""
        width, labelling, pieces = len(problem.graph.cards), problem.labelling, self.pieces
        partly = np.zeros(len(instance), np.bool_)
        complete = problem.gold.complete_sentences(problem.sentence_off)
        for n in np.flatnonzero(~complete[self.sentence]).tolist():
            over = pieces.over[pieces.over_off[instance[n]] : pieces.over_off[instance[n] + 1]]
            partly[n] = (labelling[width * problem.sentence_off[self.sentence[n]] + over] < 0).any()
        return partly

    @property
    def method(self) -> MarginalInference:
        return self._instances.method

    @property
    def total_status(self) -> RunStatus:
        """As `Criterion.total_status`; each instance counts as a graph."""
        status = self._instances.total_status
        return replace(status, impossible=self._sentences(status.impossible))

    def _sentences(self, instances: Sequence[int]) -> tuple[int, ...]:
        return tuple(sorted({int(self.sentence[n]) for n in instances}))

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """The losses of all instances, in nats, and the gradient [W]."""
        value, instance_gradient = self._instances.value_and_gradient(self._share * weights[self._weight])
        gradient = np.zeros(self.num_weights)
        np.add.at(gradient, self._weight, self._trained * self._share * instance_gradient)
        return value, gradient

    def batches_under(self, penalty: Penalty, size: int | None = None) -> None:
        """None: large pieces are not trained in batches of sentences."""

    def contradictions(self) -> tuple[int, ...]:
        return self._sentences((*self._impossible, *self._instances.contradictions()))


def _counts(clamped: Clamped) -> tuple[Floats, Floats, tuple[int, ...]]:
    """Feature counts [W'] of the instances that `clamped` runs, which are wholly known, what scores without weights add
    to each instance, and the impossible instances.

    Only one labelling is left, so expectations are its counts, at any weights.
    """
    data = clamped.data
    out = Expectations.empty(data)
    counts, cells = np.zeros(data.num_weights), np.zeros(len(data.hard))
    potentials = data.potentials(np.zeros(data.num_weights))
    for begin, end in clamped.runs(0, data.num_sequences):
        clamped.method.expectations(potentials, begin, end, out, counts, cells)
    add_bias_gradient(data.bindings, cells, counts)
    return counts, np.where(np.isfinite(out.log_z), out.log_z, 0.0), out.summary().impossible


# the losses of pieces -------------------------------------------------------------------------------------------------

Loss = Likelihood | LargePieces
LARGEST = 2**16  # joint states that may be enumerated with NOTA
FASTER = 2**12  # joint states that are enumerated in training without NOTA; larger pieces become graphs


class PieceObjective(SummedCriterion):
    """A sum of objectives over the same weights, and a penalty on the weights that any of them trains.

    trained: of each objective a mask [W], 0 for weights that it does not train (locked cliques, cliques of no piece).
    """

    inference_description = "pieces"
    penalty: Penalty

    def __init__(
        self, parts: Sequence[Loss], trained: Sequence[Floats], problem: TrainingProblem,
        settings: TrainSettings[PieceSettings],
    ):  # fmt: skip
        self.parts, self.trained, self._problem, self._settings = parts, trained, problem, settings
        self.terms = parts
        self._is_trained = np.max(trained, axis=0)
        self.penalty = problem.penalty(settings).masked(self._is_trained)
        self.num_weights, self.workers = parts[0].num_weights, problem.workers
        self._hidden = bool(problem.gold.open_sentences(problem.sentence_off).any())
        nota = settings.criterion.nota
        self._choose = nota if isinstance(nota, LikelyCases) else None
        self.pause = None if self._choose is None else self._choose.after

    def advance(self, weights: Floats) -> None:
        """Chooses the cases in which NOTA is right: those whose marginal at these weights is above the threshold."""
        method, problem = self.parts[0].method, self._problem
        assert self._choose is not None and isinstance(method, PieceMethod)
        inference = problem.inference(self._settings)
        data, of = problem.bind(programs=METHODS[inference.name].programs), method.data
        potentials = data.potentials(weights)
        out = run_inference(data, inference.build(data), potentials, problem.workers, marginals=True)
        listed = likely_cases(
            of.shapes, of.rows, method.pieces, out.marginals, of.marginal_off, method.labelling, of.labelling_off,
            self._choose.threshold,
        )  # fmt: skip
        method.cases = Cases(LISTED, 0.0, 0, *listed)

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """The losses of all pieces and the penalty, in nats, and the gradient [W]."""
        evaluations = [part.value_and_gradient(weights) for part in self.parts]
        gradient = np.zeros_like(weights)
        penalty = self.penalty.add(weights, gradient)
        for mask, (_, part_gradient) in zip(self.trained, evaluations, strict=True):
            gradient += mask * part_gradient
        return sum((value for value, _ in evaluations), start=penalty), gradient

    def batches(self, size: int | None = None) -> SentenceBatches | None:
        """See `Likelihood.batches`. None also with large pieces, pieces over whole sequences, unknown labels, untrained
        weights, or cases of NOTA that a model chooses; for a start also where evaluations read no single sentence.
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
        if self._hidden or any(part.method.approximate for part in self.parts):
            return None
        return self.penalty.gap(gradient, self._is_trained > 0.0)


def build_piecewise(
    problem: TrainingProblem, settings: TrainSettings[PieceSettings], templates: Sequence[graph.PieceTemplate]
) -> PieceObjective:
    """The losses of these pieces under one penalty.

    Raises DcrfError where pieces are too large, have too many cases, or condition on an unknown variable.
    """
    criterion = settings.criterion
    whole = [template for template in templates if template.everywhere]
    parted = [template for template in templates if not template.everywhere]
    most = FASTER if criterion.nota is None else LARGEST
    large = [template for template in parted if is_large_piece(problem.graph, template, most)]
    small = [template for template in parted if template not in large]
    if criterion.nota is not None and (large or whole):
        message = f"piece `{[*large, *whole][0].name}` has too many joint states for `nota`: {LARGEST:,} are possible"
        raise DcrfError(
            Diagnostic("piece-too-large", message, help="make it over fewer variables, or leave out `nota`")
        )
    if problem.gold.soft:
        refuse_mixture(problem, len(problem.graph.cards))
        if large or whole or criterion.nota is not None:
            name = "`nota`" if criterion.nota is not None else f"a piece as large as `{[*large, *whole][0].name}`"
            message = f"{name} takes one state of each label in training, and some labels have distributions"
            raise data_error("soft-labels", message, help="train by `likelihood`, or by pieces over fewer variables")
    divide = criterion.overlap == "divide"
    no_penalty = Penalty.none(problem.parameters.num_weights)
    parts: list[Loss] = []
    trained: list[Floats] = []
    importance = problem.token_importance(settings)
    if small:
        data = _only(problem, _held(parted)).bind(programs=False)

        def build(data: BoundData) -> PieceMethod:
            method = PieceMethod(data, small, problem.gold, divide=divide, beside=large,
                                 token_importance=importance)  # fmt: skip
            method.cases = _cases(criterion, data, method.pieces, problem.first_sentence)
            return method

        method = build(data)
        if criterion.nota is not None or problem.gold.soft:
            _refuse_cases(most_cases(data.shapes, method.pieces), criterion)
        _refuse_unknown(problem, method.pieces, data.rows.shape)
        if problem.gold.soft:
            _refuse_impossible(problem, method)
        is_shared = criterion.nota is None and importance is None and are_shared(method)
        loss_method = SharedPieceMethod(method) if is_shared else method
        parts.append(Likelihood(data, loss_method, no_penalty.precision, no_penalty, problem.workers, build=build))
        trained.append(_mask(problem, small))
    if large:
        part = LargePieces(problem, settings, large, divide=divide, beside=small)
        _refuse_unknown(problem, part.pieces, part.shape_of)
        parts.append(part)
        trained.append(_mask(problem, large))
    for template in whole:
        parts.append(_whole(problem, settings, template, no_penalty))
        trained.append(_mask(problem, [template]))
    return PieceObjective(parts, trained, problem, settings)


def _only(problem: TrainingProblem, cliques: Collection[int]) -> TrainingProblem:
    """The data with the graph of these cliques alone: tables of the others are never read."""
    kept = tuple(t for t in problem.graph.templates if t.clique in cliques or t.clique < 0)
    if len(kept) == len(problem.graph.templates):
        return problem
    return replace(problem, graph=replace(problem.graph, templates=kept))


def _held(templates: Iterable[graph.PieceTemplate]) -> frozenset[int]:
    """The cliques that are in some of these pieces."""
    return frozenset(clique for template in templates for clique, *_ in template.members)


def _cases(criterion: PieceSettings, data: BoundData, pieces: PieceInstances, before: int) -> Cases:
    """The cases of NOTA at the start; cases that a model chooses come later.

    before: sentences of the whole data that come before these: what is drawn must not depend on how it was cut.
    """
    empty = no_cases(data.num_sequences)
    match criterion.nota:
        case AllCases(reach=reach):
            return empty._replace(mode=ALL if reach == "all" else ONE)
        case SampledCases(rate=rate, seed=seed):
            numbers = before + np.arange(data.num_sequences + 1)
            return empty._replace(mode=SAMPLED, rate=rate, seed=seed, instance=numbers)
        case LikelyCases():
            instances = np.diff(pieces.instance_off)[data.rows.shape]
            first = graph.offsets(instances)
            return empty._replace(mode=LISTED, instance=first, case_off=np.zeros(int(first[-1]) + 1, np.int64))
    return empty


def _refuse_cases(most: int, criterion: PieceSettings) -> None:
    if most > criterion.max_cases:
        message = f"a piece conditions on {most:,} joint values; `max_cases` is {criterion.max_cases:,}"
        remedy = "raise `max_cases`, let pieces condition on less, or use `nota = all(reach = one)`"
        raise DcrfError(Diagnostic("too-many-cases", message, help=remedy))


def _refuse_unknown(problem: TrainingProblem, pieces: PieceInstances, shape_of: Ints32) -> None:
    """DcrfError where a piece conditions on an unknown variable."""
    width, off = len(problem.graph.cards), problem.sentence_off
    for s in np.flatnonzero(problem.gold.open_sentences(off)).tolist():
        instances = pieces.instance_off[shape_of[s] : shape_of[s] + 2]
        first, last = pieces.given_off[instances]
        used = np.unique(pieces.given[first:last])
        unknown = used[problem.labelling[width * off[s] + used] < 0]
        if len(unknown):
            t, variable = divmod(int(unknown[0]), width)
            name = problem.graph.variables[variable]
            message = f"a piece conditions on `{name}` at token {t + 1} of sentence {s + 1}, where it is not known"
            remedy = f"train by `likelihood` or `piecewise`, which sum it out, or make the piece over `{name}` as well"
            raise DcrfError(Diagnostic("piece-conditions-on-unknown", message, help=remedy))


def _refuse_impossible(problem: TrainingProblem, method: PieceMethod) -> None:
    """DcrfError where constraints exclude every state to which the labels of a piece give a probability."""
    data, out = method.data, Expectations.empty(method.data)
    potentials, nothing = data.potentials(np.zeros(data.num_weights)), np.zeros(data.num_cells)
    method.expectations(potentials, 0, data.num_sequences, out, nothing, np.zeros(len(data.hard)))
    for s in out.summary().impossible[:1]:
        refuse_impossible(problem, int(problem.sentence_off[s]))


def _mask(problem: TrainingProblem, templates: Sequence[graph.PieceTemplate]) -> Floats:
    """1 for the weights that some of these pieces train."""
    mask = np.zeros(problem.parameters.num_weights)
    for clique, _, locked in (member for template in templates for member in template.members):
        if not locked:
            mask[problem.parameters.of_clique(clique)] = 1.0
    return mask


def _whole(
    problem: TrainingProblem, settings: TrainSettings, template: graph.PieceTemplate, penalty: Penalty
) -> Likelihood:
    """A piece over whole sequences: the likelihood of the model of its cliques, given all other variables."""
    held = _held([template])
    codes = problem.gold.codes.copy()
    codes[[variable for variable, _ in template.over]] = graph.UNKNOWN
    part = replace(_only(problem, held), gold=replace(problem.gold, codes=codes))
    inference = part.inference(settings)
    data = part.bind_known(programs=METHODS[inference.name].programs)
    factor = problem.sentence_importance(settings)
    counts = np.zeros_like(problem.counts)
    gold_counts = known_counts(problem, problem.bind(programs=False), factor)
    for clique in held:
        clique_weights = problem.parameters.of_clique(clique)
        counts[clique_weights] = gold_counts[clique_weights]
    build = partial(build_weighted, inference.build, factor)
    known = replace(part, gold=problem.gold)
    clamped, fixed = clamped_by(known, inference, build), known_fixed(known, factor)
    return Likelihood(data, build(data), counts, penalty, problem.workers, clamped, factor=factor, fixed=fixed)


# pieces that share no weight ------------------------------------------------------------------------------------------


class IndependentPieces(SummedCriterion):
    """A sum of objectives of different weights: for each the numbers of its weights, ascending, and the objective.

    num_weights: W of the model; some weights may be in no part.
    """

    def __init__(self, apart: Sequence[tuple[Ints, PieceObjective]], num_weights: int):
        self.apart: Sequence[tuple[Ints, PieceObjective]] = tuple(apart)
        self.terms, self.num_weights = [objective for _, objective in apart], num_weights
        self.inference_description = f"pieces in {len(self.apart)} independent parts"

    def value_and_gradient(self, weights: Floats) -> tuple[float, Floats]:
        """The losses of all pieces and the penalties, in nats, and the gradient [W]."""
        gradient, total = np.zeros(self.num_weights), 0.0
        for numbers, objective in self.apart:
            value, gradient[numbers] = objective.value_and_gradient(weights[numbers])
            total += value
        return total, gradient

    def gap(self, gradient: Floats) -> float | None:
        gaps = [objective.gap(gradient[numbers]) for numbers, objective in self.apart]
        known = [gap for gap in gaps if gap is not None]
        return sum(known) if len(known) == len(gaps) else None


def restricted_to_cliques(problem: TrainingProblem, held: Collection[int]) -> tuple[TrainingProblem, Ints]:
    """The training data of a model with only these cliques and their weights; and the numbers of these weights."""
    parts = tuple(
        weights if c in held else weights.without_weights() for c, weights in enumerate(problem.parameters.cliques)
    )
    numbers = np.sort(np.concatenate([problem.parameters.of_clique(c) for c in sorted(held)]))
    part = replace(
        _only(problem, held),
        parameters=graph.Parameters(parts),
        counts=problem.counts[numbers],
        weights=problem.weights[numbers] if len(problem.weights) else problem.weights,
        relations={c: pairs for c, pairs in problem.relations.items() if c in held},
    )
    return part, numbers


def build_pieces(
    problem: TrainingProblem, settings: TrainSettings[PieceSettings]
) -> PieceObjective | IndependentPieces:
    """The criterion of a stage that trains pieces. Raises DcrfError as `build_piecewise` does.

    Pieces that share no weight are trained apart, except where the whole model is needed on the way: for the score on
    held-out data that `patience` watches, to choose the cases of NOTA, where a
    prior ties cliques, and where `keep` compares all weights.
    """
    criterion = settings.criterion
    templates = graph.piece_templates(problem.spec, problem.graph, pieces_of(problem.spec, criterion))
    problem = replace(problem, graph=graph.with_constraints_apart(problem.graph, templates))
    groups = graph.independent_pieces(templates)
    is_tied = any(isinstance(p, GaussianPrior) and p.tied_to is not None for p in settings.clique_priors.values())
    compares = is_tied or settings.keep is not None or isinstance(criterion.nota, LikelyCases)
    if len(groups) == 1 or settings.patience is not None or compares:
        return build_piecewise(problem, settings, templates)
    parts = []
    for group in groups:
        part, numbers = restricted_to_cliques(problem, _held(group))
        if len(numbers):
            parts.append((numbers, build_piecewise(part, settings, group)))
    return IndependentPieces(parts, problem.parameters.num_weights)
