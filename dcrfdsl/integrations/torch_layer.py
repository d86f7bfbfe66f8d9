"""A template as the last layer of a network in PyTorch: a distribution over labellings, given the scores of a net.

    layer = Layer("tags.dcrf")                      its parameters are the template's own weights
    d = layer(scores, lengths)                      scores: [B, T, K], or {column: tensor}
    loss = -d.log_prob(tags).mean()                 tags: [B, T], or {label: codes}; -1 where a label is not known

The kernels of the engine compute, on the CPU, in float64 and without Python's lock; tensors of other devices are copied
there and back. Results have the type and device of the scores (float32 for those in half precision). The derivative of
log Z in the scores are the marginals of their cliques, of these their covariances: a second derivative is taken by
differences of four exact expectations, a third is refused.

Not here: sums over labellings (`scored_batches`), what fits a template (`score_checks`), models on disk (`model`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np

from ..data import Corpus, EncodedLabels
from ..foundation import Ints, Mask, json_text, needed
from ..graph import Gold
from ..model import Prediction, Predictor, TrainedModel, gold_of
from ..syntax import other_words
from ..training import AnyTemplate
from . import score_checks
from .scored_batches import LabelledBatch, ScoredBatch, ScoredTemplate, best_codes
from .torch_derivatives import BatchSum, CriterionSum, ExpectedScore, PaddedFunction, Places, array_of

with needed("torch"):
    import torch
    from torch import Tensor, nn

Scores: TypeAlias = "Tensor | Mapping[str, Tensor]"
Tags: TypeAlias = "Tensor | Mapping[str, Tensor]"
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
UNKNOWN = -1  # the code of a label that is not known, which is summed out


def _eager(method: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The method, but never traced by `torch.compile`, which would take minutes and fail: it breaks the graph there."""

    @wraps(method)
    def call(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        if torch.compiler.is_compiling():
            result: Result = torch.compiler.disable(method)(*arguments, **named)
            return result
        return method(*arguments, **named)

    return call


class Layer(nn.Module):
    """A template over scores, as a module. Calling it gives a `SequenceDistribution`.

    template: as `dcrfdsl.fit` takes it: a path, what `load_template` or `load_text` gives, a `Template`. It reads
        scores alone, by `offset(COLUMN)`, and declares all states. Or a model that `to_model` has written, by
        `dcrfdsl.load`, with whose weights the layer begins.
    states: the states of labels in the order in which the net scores them, by label, or a list if there is one label. A
        check: an error if the template has them in another order.
    threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.

    weights: the template's own weights, as those of `clique tag[-1], tag`, a parameter [W], 0 at first.

    Raises DcrfError where the template is wrong, or reads anything but scores.
    """

    def __init__(
        self,
        template: AnyTemplate | TrainedModel,
        *,
        states: Mapping[str, Sequence[str]] | Sequence[str] | None = None,
        threads: int | None = None,
    ):
        super().__init__()
        given = template.spec if isinstance(template, TrainedModel) else template
        self.template = ScoredTemplate(given, threads)
        self.weights = nn.Parameter(torch.zeros(self.template.num_weights))
        if isinstance(template, TrainedModel):
            self.weights.data.copy_(torch.as_tensor(template.weights))
        score_checks.check_states(self.template, states)

    @property
    def states(self) -> dict[str, tuple[str, ...]]:
        """The states of each label, in the order of scores and codes."""
        return {label: self.template.states[label] for label in self.template.labels}

    def extra_repr(self) -> str:
        inputs = ", ".join(f"{name}: {' × '.join(map(str, one.shape))}" for name, one in self.template.inputs.items())
        return f"{inputs}; {self.template.num_weights} weights, {self.template.method}"

    @property
    def weight_names(self) -> list[tuple[str, ...]]:
        """What each of `weights` is for, [W]: its clique, then a state of each variable: `("moves", "O", "B-PER")`."""
        rows = self.template.model(np.zeros(self.template.num_weights)).explanations.iter_weights()
        return [(clique, *states) for clique, _, states, _ in rows]

    def get_extra_state(self) -> Tensor:
        """For `state_dict`: what the weights are of, as the bytes of a JSON text, which all formats can keep."""
        text = json_text({"states": self.template.states, "weights": self.template.weights_by_clique})
        return torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8)

    def set_extra_state(self, state: Tensor) -> None:
        """For `load_state_dict`. ValueError where weights are of other states, in another order, or of other cliques.

        state: as `get_extra_state` gives it.
        """
        score_checks.check_origin(self.template, json.loads(bytes(state.cpu().tolist())))

    def __getattr__(self, name: str) -> Any:
        if instead := other_words("attributes of torch layers").get(name):
            raise AttributeError(f"a layer has no `{name}`: {instead}")
        return super().__getattr__(name)

    @_eager
    def forward(
        self,
        scores: Scores,
        lengths: Tensor | Sequence[int] | None = None,
        *more: Any,
        mask: Tensor | None = None,
        **others: Any,
    ) -> SequenceDistribution:
        """The distribution over the labellings of a batch.

        scores: [B, T, K] float, K in the order of `states`; of several columns by name, of a column over several
            variables [B, T, K1, K2, …]. -inf is impossible.
        lengths: [B] whole numbers from 0 to T; by default T each.
        mask: [B, T] bool in place of `lengths`: the positions that there are. Those with False are left out, and their
            neighbours are neighbours then.

        Raises ValueError for scores or weights that are NaN or +inf, for another shape, and lengths that do not fit;
        TypeError for other arguments.
        """
        if more or others:
            name = next(iter(others), "tags")
            instead = other_words("arguments of torch layers").get(
                name, "it takes `scores`, then `lengths` or `mask = …`"
            )
            raise TypeError(f"a layer takes no `{name}`: {instead}")
        tables = score_checks.scores_by_column(self.template, scores)
        for name, one in tables.items():
            if not isinstance(one, Tensor) or not one.is_floating_point():
                kind = one.dtype if isinstance(one, Tensor) else type(one).__name__
                raise ValueError(f"scores of `{name}` are a tensor of floats, found {kind}")
        given = *tables.values(), self.weights
        if any(torch._C._functorch.is_batchedtensor(one) for one in given):
            raise RuntimeError("`torch.func.vmap` cannot map a dcrfdsl layer: give it the sentences as one batch")
        if any(torch._C._functorch.is_functorch_wrapped_tensor(one) for one in given):
            raise RuntimeError("`torch.func` cannot look into a dcrfdsl layer: take `torch.autograd.grad`")
        return SequenceDistribution(self, tables, _kept_positions(next(iter(tables.values())), lengths, mask))

    def parameter_groups(self, net: nn.Module, *, lr: float, moves: float) -> list[dict[str, Any]]:
        """The groups of an optimizer: the net, and the template's weights with a learning rate of their own.

        Moves that learn as slowly as a pretrained net stay near 0 for all of its training.

        net: the network below.   lr: its learning rate.   moves: that of the template's weights.
        """
        own = {id(one) for one in self.parameters()}
        below = [one for one in net.parameters() if id(one) not in own]
        return [{"params": below, "lr": lr}, {"params": list(self.parameters()), "lr": moves}]

    def model(self) -> TrainedModel:
        """The template with the present weights, as a model that reads scores from data and needs no PyTorch."""
        return self.template.model(self.weights.detach().cpu().double().numpy())

    def to_model(self, path: str | Path) -> None:
        """Writes `model()` to a file, for `dcrfdsl tag` and `dcrfdsl.load`.

        path: of the file.
        """
        self.model().save(path)


class SequenceDistribution:
    """p(labels | scores) for a batch of B sentences of up to T tokens. Made by a `Layer`.

    Values of positions that are not there are 0, and their codes -1, as in a sentence without any labelling.
    """

    def __init__(self, layer: Layer, scores: Mapping[str, Tensor], kept: Mask):
        self._layer, self._places = layer, Places(kept)
        self._inputs = {name: table.flatten(2) for name, table in scores.items()}  # [B, T, states] each
        score_checks.check_weights(array_of(layer.weights))
        for name, table in self._inputs.items():
            score_checks.check_scores(name, self._places.taken(table), kept)
        some = next(iter(scores.values()))
        self._type = some.dtype if some.dtype == torch.float64 else torch.float32
        self._device = some.device

    def __getattr__(self, name: str) -> Any:
        if instead := other_words("attributes of torch distributions").get(name):
            raise AttributeError(f"a distribution has no `{name}`: {instead}")
        return object.__getattribute__(self, name)  # the error of a property as it was

    def __neg__(self) -> None:
        raise TypeError(f"a distribution is no loss: {other_words('attributes of torch distributions')['backward']}")

    # sums over labellings -----------------------------------------------------------------------------------------

    @cached_property
    def _tables(self) -> list[Tensor]:
        """The scores of each table of the graph, [B, T, assignments] each."""
        template, tables = self._layer.template, []
        for names, price in zip(template.tables, template.prices, strict=True):
            if price is None:
                first, *others = (self._inputs[name] for name in names)
                tables.append(sum(others, first))
            else:
                tables.append(torch.as_tensor(price).expand(*self._places.kept.shape, -1))
        return tables

    @property
    def _batch(self) -> ScoredBatch:
        return self._layer.template.batch(self._places.lengths)

    def _sum(self) -> Tensor:
        return BatchSum.apply(PaddedFunction(self._batch, self._places), self._layer.weights, *self._tables)

    @cached_property
    @_eager
    def log_partition(self) -> Tensor:
        """log Z of each sentence, [B]; -inf where no labelling is possible."""
        return self._sum().to(self._type)

    @_eager
    def log_prob(self, tags: Tags, *, validate: bool = True) -> Tensor:
        """log p(tags | scores) of each sentence, [B].

        tags: [B, T] codes, indices into `layer.states`, or {label: codes}; -1 where a label is not known, which is
            summed out.
        validate: whether labels that the template forbids are an error; else their probability is 0, its log -inf.

        Raises ValueError where codes are no states, or forbidden.
        """
        known = LabelledBatch(self._batch, list(self._codes(tags).values()))
        found: Tensor = BatchSum.apply(PaddedFunction(known, self._places), self._layer.weights, *self._tables)
        if validate:
            score_checks.check_possible(found.detach().cpu().numpy())
        return found.to(self._type)

    def _expected(self, tables: Sequence[Tensor], opened: Sequence[Tensor]) -> Sequence[Tensor]:
        """The derivatives of Σ log Z in the tables, and in those that are opened; differentiable where torch asks."""
        every = [*tables, *opened]
        batch = self._layer.template.batch(self._places.lengths, opened=bool(opened))
        padded = PaddedFunction(batch, self._places)
        if not torch.is_grad_enabled():
            tensors = [self._layer.weights, *every]
            _, counts = batch.derivatives(padded.arrays(tensors))
            return padded.like(counts, tensors)[1:]
        every = [one if one.requires_grad else one.clone().requires_grad_() for one in every]
        sums = BatchSum.apply(padded, self._layer.weights, *every).sum()
        found: tuple[Tensor, ...] = torch.autograd.grad(sums, every, create_graph=True)
        return found

    @cached_property
    @_eager
    def marginals(self) -> dict[str, Tensor]:
        """p(label at t = state | scores) by label, [B, T, K]; differentiable."""
        cards, shape = self._layer.template.graph.cards, self._places.kept.shape
        # The marginals are the derivatives of a table of zeros for each variable.
        opened = [torch.zeros(*shape, card, dtype=torch.float64, requires_grad=True) for card in cards]
        found = self._expected(self._tables, opened)[-len(opened) :]
        names = self._layer.template.graph.variables
        return {name: one.to(self._type) for name, one in zip(names, found, strict=True)}

    @cached_property
    @_eager
    def clique_marginals(self) -> dict[str, Tensor]:
        """The marginals of the variables of each column of scores, by column, [B, T, K1, …]; differentiable.

        A clique over neighbours, as `y[-1], y`, has none at the first token.
        """
        found = self._expected(self._tables, [])
        template, marginals = self._layer.template, {}
        for names, one in zip(template.tables, found, strict=True):
            for name in names:
                marginals[name] = one.to(self._type).unflatten(2, template.inputs[name].shape)
        return marginals

    @_eager
    def entropy(self) -> Tensor:
        """−Σ p log p over the labellings of each sentence, [B] in nats; with hidden variables, over these too."""
        return (self._sum() - self._expected_score(self)).to(self._type)

    @_eager
    def kl(self, other: SequenceDistribution) -> Tensor:
        """KL(self ‖ other) = Σ p log (p / q) of each sentence, [B] in nats.

        other: of a layer of the same template, and sentences of the same lengths.
        """
        if not np.array_equal(other._places.kept, self._places.kept):
            raise ValueError("`kl` compares distributions over sentences of the same lengths, or with the same mask")
        if [one.shape for one in other._tables] != [one.shape for one in self._tables]:
            raise ValueError("`kl` compares distributions of layers of the same template")
        apart = self._expected_score(self) - self._expected_score(other)
        return (apart - self._sum() + other._sum()).to(self._type)

    def _expected_score(self, by: SequenceDistribution) -> Tensor:
        """The expected score of a labelling by another distribution, [B]."""
        own, others = [self._layer.weights, *self._tables], [by._layer.weights, *by._tables]
        return ExpectedScore.apply(self._batch, self._places, len(own), *own, *others)

    @_eager
    def loss(self, tags: Tags, criterion: str = "likelihood") -> Tensor:
        """A criterion of the language, as its sum over the sentences, a scalar; without a penalty.

        tags: as for `log_prob`.
        criterion: as after `train`: `hmsvm(loss = hamming(tag))`, `mce(loss = fscore(tag))`, `perceptron` …

        Raises DcrfError where the template does not allow the criterion.
        """
        lengths = self._places.lengths[self._places.lengths > 0]  # a criterion is of sentences that have labels
        if not len(lengths):
            return self._sum().sum().to(self._type)  # which is 0
        batch, gold = self._layer.template.batch(lengths), self._gold(self._codes(tags), lengths)
        tensors = [self._layer.weights, *self._tables]
        return CriterionSum.apply(batch, self._places, gold, criterion, *tensors).to(self._type)

    # labellings ---------------------------------------------------------------------------------------------------

    @cached_property
    def _model(self) -> TrainedModel:
        return self._layer.model()

    def _corpus_of(self, lengths: Ints) -> Corpus:
        scores = {name: self._places.taken(table).astype(np.float64) for name, table in self._inputs.items()}
        return self._layer.template.corpus(lengths, scores)

    @cached_property
    def _corpus(self) -> Corpus:
        return self._corpus_of(self._places.lengths)

    @cached_property
    def _predictor(self) -> Predictor:
        return self._model.prepare(self._corpus)

    @cached_property
    @_eager
    def prediction(self) -> Prediction:
        """The best labels as `TrainedModel.predict` gives them."""
        return self._model.predict(self._predictor, threads=self._layer.template.workers.threads)

    @cached_property
    @_eager
    def mode(self) -> Tensor | dict[str, Tensor]:
        """The codes of the best labels, [B, T], by the template's rule of decoding; by label if there are several."""
        return self._labels(best_codes(self.prediction, self._places.lengths))

    @_eager
    def sample(self, count: int = 1, *, seed: int = 0) -> Tensor | dict[str, Tensor]:
        """Labels drawn from the distribution, [count, B, T] codes; by label if there are several.

        count: of labellings a sentence.
        seed: the same seed draws the same labels.
        """
        drawn = self._model.sample(self._corpus, count, seed=seed, threads=self._layer.template.workers.threads)
        return self._stacked(drawn.codes, count)

    @_eager
    def topk(self, count: int) -> tuple[Tensor | dict[str, Tensor], Tensor]:
        """The `count` best labellings of each sentence, best first.

        Returns codes [count, B, T], by label if there are several, and log probabilities [count, B].
        A sentence with fewer labellings has codes of -1 and -inf for the rest.
        """
        found = self._model.nbest(self._predictor, count, threads=self._layer.template.workers.threads).sentences
        lengths, tokens = self._places.lengths, len(self._places.tokens)
        codes = {label: np.full((count, tokens), UNKNOWN, np.int64) for label in self._layer.states}
        logs, at = np.full((count, len(found)), -np.inf), 0
        for s, best in enumerate(found):
            for label, one in best.codes.items():
                codes[label][: len(best), at : at + lengths[s]] = one
            with np.errstate(divide="ignore"):
                logs[: len(best), s] = np.log(best.probability)
            at += int(lengths[s])
        return self._stacked(codes, count), torch.as_tensor(logs, dtype=self._type, device=self._device)

    @_eager
    def event_probability(self, event: str) -> Tensor:
        """The probability of an event in each sentence, [B], such as `tag[3] is B-PER`; see `model.events.probability`.

        event: in the words of `dcrfdsl probability`; positions count from 1.

        NaN where a sentence ends before a position of the event, which neither holds there nor fails.
        """
        events, workers = self._model.events, self._layer.template.workers
        last, found = events.reader.last_position(event), np.full(len(self._places.lengths), np.nan)
        asked = np.flatnonzero(self._places.lengths >= last)
        whole = self._predictor if len(asked) == len(found) else self._corpus.take(asked)
        if len(asked):
            found[asked] = [one.value for one in events.probability(whole, event, threads=workers.threads)]
        return torch.as_tensor(found, dtype=self._type, device=self._device)

    # tensors and arrays -------------------------------------------------------------------------------------------

    def _labels(self, codes: Mapping[str, Any]) -> Tensor | dict[str, Tensor]:
        found = {}
        for label in self._layer.states:
            of_label = self._places.spread(np.asarray(codes[label], np.int64), UNKNOWN)
            found[label] = torch.as_tensor(of_label, device=self._device)
        return next(iter(found.values())) if len(found) == 1 else found

    def _stacked(self, codes: Mapping[str, Any], count: int) -> Tensor | dict[str, Tensor]:
        """Several labellings, from the codes of each label at the tokens, [count, N]."""
        each = [self._labels({label: one[n] for label, one in codes.items()}) for n in range(count)]
        if isinstance(each[0], Tensor):
            return torch.stack(each)
        return {label: torch.stack([one[label] for one in each]) for label in each[0]}

    def _codes(self, tags: Tags) -> dict[str, Ints]:
        """The codes of each label at the tokens, [N]."""
        template = self._layer.template
        given = score_checks.codes_by_label(template, tags, self._places.kept.shape)
        found = {label: np.full(len(self._places.tokens), UNKNOWN) for label in template.labels if label not in given}
        for label, one in given.items():
            if not isinstance(one, Tensor):
                raise ValueError(f"codes of `{label}` are a tensor, found {type(one).__name__}")
            if one.is_floating_point() or one.is_complex() or one.dtype == torch.bool:
                raise ValueError(f"codes of `{label}` are whole numbers, found {one.dtype}")
            found[label] = self._places.taken(one).astype(np.int64)
            score_checks.check_codes(template, label, found[label])
        return {label: found[label] for label in template.labels}

    def _gold(self, codes: Mapping[str, Ints], lengths: Ints) -> Gold:
        template = self._layer.template
        known = np.stack([*codes.values()]).astype(np.int32)
        encoded = EncodedLabels(known, tuple({} for _ in known), tuple(() for _ in known))
        return gold_of(template.spec, template.states, template.extractor, self._corpus_of(lengths), encoded)


# what comes in --------------------------------------------------------------------------------------------------------


def _kept_positions(table: Tensor, lengths: Tensor | Sequence[int] | None, mask: Tensor | None) -> Mask:
    """Which positions of scores [B, T, …] there are, [B, T]."""
    shape = (table.shape[0], table.shape[1])
    if mask is not None:
        if lengths is not None:
            raise ValueError("give `lengths` or `mask`, not both")
        mask = torch.as_tensor(mask)
        if mask.dtype != torch.bool or tuple(mask.shape) != shape:
            found = f"{mask.dtype} of shape {tuple(mask.shape)}"
            raise ValueError(f"`mask` is [B, T] bool, {shape} here; found {found}; `.bool()` makes one of numbers")
        of_mask: Mask = mask.cpu().numpy()
        return of_mask
    counts = None if lengths is None else torch.as_tensor(lengths).cpu().numpy()
    if counts is not None and counts.shape == shape and counts.ndim == 2:
        raise ValueError(
            "`lengths` are a number a sentence, found one a token: give a mask as `mask = …`, and labels to `log_prob`"
        )
    return score_checks.kept_positions(counts, shape)
