"""A template over the scores of a network in JAX: log Z and log p as pure functions of its weights and of the scores.

    functions = TemplateFunctions("tags.dcrf")
    functions.log_partition(weights, scores, lengths)        scores: [B, T, K], or {column: array}
    functions.log_prob(weights, scores, tags, lengths)       tags: [B, T], or {label: codes}; -1 if not known

The kernels of the engine compute, on the CPU, in float64; compiled programs call them back. The derivatives of log Z in
the scores are the marginals of their cliques. A second derivative is taken by differences of four exact expectations, a
third is refused.

Not here: sums over labellings (`scored_batches`), what fits a template (`score_checks`), models on disk (`model`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from ..foundation import Mask, needed
from ..model import TrainedModel
from ..training import AnyTemplate
from . import score_checks
from .scored_batches import Arrays, BatchFunction, LabelledBatch, ScoredTemplate, best_codes

with needed("jax", "this needs the package `jax`, 0.7 or newer"):
    import jax
    from jax import Array, ShapeDtypeStruct, numpy as jnp

    try:
        from jax.experimental.buffer_callback import buffer_callback
    except ImportError:
        raise ImportError(name="jax") from None  # it is older

UNKNOWN = -1  # the code of a label that is not known, which is summed out


class TemplateFunctions:
    """A template over scores, as pure functions of its weights and of scores.

    template: as `dcrfdsl.fit` takes it: a path, what `load_template` or `load_text` gives, a `Template`. It reads
        scores alone, by `offset(COLUMN)`, and declares all states.
    states: the states of labels in the order in which the net scores them, by label, or a list if there is one label. A
        check: an error if the template has them in another order.
    threads: to compute with; by default `DCRFDSL_THREADS`, else all cores.

    num_weights: of the template's own weights, as those of `clique tag[-1], tag`.

    Raises DcrfError where the template is wrong, or reads anything but scores.
    """

    def __init__(
        self,
        template: AnyTemplate,
        *,
        states: Mapping[str, Sequence[str]] | Sequence[str] | None = None,
        threads: int | None = None,
    ):
        self.template = ScoredTemplate(template, threads)
        self.num_weights = self.template.num_weights
        score_checks.check_states(self.template, states)

    @property
    def states(self) -> dict[str, tuple[str, ...]]:
        """The states of each label, in the order of scores and codes."""
        return {label: self.template.states[label] for label in self.template.labels}

    def initial_weights(self) -> Array:
        """Weights to begin with, [num_weights]: 0."""
        return jnp.zeros(self.num_weights)

    def log_partition(self, weights: Array, scores: Any, lengths: Any = None) -> Array:
        """log Z of each sentence, [B]; -inf where no labelling is possible.

        weights: [num_weights] float.
        scores: [B, T, K] float, K in the order of `states`; of several columns by name, of a column over several
            variables [B, T, K1, K2, …]. -inf is impossible. In half precision they are computed in float32.
        lengths: [B] whole numbers from 0 to T; by default T each.

        Raises ValueError for what does not fit; in a compiled program JAX's own error, with the same message.
        """
        return _value(self, (_whole("`lengths`", lengths), None), self._arrays(weights, scores))

    def log_prob(self, weights: Array, scores: Any, tags: Any, lengths: Any = None) -> Array:
        """log p(tags | scores) of each sentence, [B].

        weights, scores, lengths: as for `log_partition`.
        tags: [B, T] codes, indices into `states`, or {label: codes}; -1 where a label is not known, which is summed
            out.

        Raises ValueError where codes are no states, or impossible by the template or its scores.
        """
        arrays = self._arrays(weights, scores)
        given = score_checks.codes_by_label(self.template, tags, arrays[1].shape[:2])
        codes = {label: _whole(f"codes of `{label}`", one) for label, one in given.items()}
        return _value(self, (_whole("`lengths`", lengths), codes), arrays)

    def mode(self, weights: Array, scores: Any, lengths: Any = None) -> Array | dict[str, Array]:
        """The codes of the best labels, [B, T], by the template's rule of decoding; by label if there are several.

        weights, scores, lengths: as for `log_partition`. Where there is no token, or no labelling, codes are -1.
        """
        given = jax.lax.stop_gradient((self._weights(weights), self._columns(scores)))
        shape = next(iter(given[1].values())).shape[:2]
        like = dict.fromkeys(self.template.labels, ShapeDtypeStruct(shape, jnp.int32))
        found = _called(self._best, like, *given, _whole("`lengths`", lengths))
        return found if len(found) > 1 else next(iter(found.values()))

    def model(self, weights: Array) -> TrainedModel:
        """The template with these weights [num_weights], as a model that reads scores from data and needs no JAX."""
        return self.template.model(np.asarray(weights, np.float64))

    def to_model(self, weights: Array, path: str | Path) -> None:
        """Writes `model(weights)` to a file, for `dcrfdsl tag` and `dcrfdsl.load`.

        weights: [num_weights].   path: of the file.
        """
        self.model(weights).save(path)

    # arrays of JAX ------------------------------------------------------------------------------------------------

    def _weights(self, weights: Any) -> Array:
        found = _floats("`weights`", weights)
        if found.shape != (self.num_weights,):
            raise ValueError(f"`weights` have the shape {found.shape}, expected ({self.num_weights},)")
        return found

    def _columns(self, scores: Any) -> dict[str, Array]:
        by_column = score_checks.scores_by_column(self.template, scores)
        return {name: _floats(f"scores of `{name}`", one) for name, one in by_column.items()}

    def _arrays(self, weights: Any, scores: Any) -> list[Array]:
        """The weights, and the tables of scores of the graph, [B, T, assignments] each."""
        columns, arrays = self._columns(scores), [self._weights(weights)]
        some = next(iter(columns.values()))
        for names, price in zip(self.template.tables, self.template.prices, strict=True):
            if price is None:
                table = sum((columns[name] for name in names[1:]), columns[names[0]])
                arrays.append(table.reshape(*table.shape[:2], prod(table.shape[2:])))
            else:
                arrays.append(jnp.broadcast_to(jnp.asarray(price, some.dtype), (*some.shape[:2], len(price))))
        return arrays

    # on the CPU, with arrays of numpy -----------------------------------------------------------------------------

    def _bound(self, known: Any, arrays: Any) -> tuple[BatchFunction, Mask, Arrays]:
        """log Z or log p; where tokens are, [B, T]; weights and tables [N, …].   known: lengths, and codes or None."""
        template, (lengths, codes) = self.template, known
        kept = score_checks.kept_positions(lengths, arrays[1].shape[:2])
        inputs = _packed(arrays, kept)
        score_checks.check_weights(inputs[0])
        for names, table in zip(template.tables, inputs[1:], strict=True):
            score_checks.check_scores(" + ".join(names), table, kept)
        batch = template.batch(kept.sum(1))
        if codes is None:
            return batch, kept, inputs
        found = {label: np.full(batch.num_tokens, UNKNOWN) for label in template.labels}
        for label, one in codes.items():
            found[label] = one[kept].astype(np.int64)
            score_checks.check_codes(template, label, found[label])
        return LabelledBatch(batch, list(found.values())), kept, inputs

    def values(self, known: Any, arrays: Any) -> Any:
        """Values of each sentence, [B]."""
        function, _, inputs = self._bound(known, arrays)
        return _possible(known, function.values(inputs))

    def derivatives(self, known: Any, arrays: Any) -> Any:
        """The same, and the derivatives of their sum."""
        function, kept, inputs = self._bound(known, arrays)
        values, counts = function.derivatives(inputs)
        return _possible(known, values), _spread(counts, kept)

    def weights_times(self, known: Any, mass: Any, arrays: Any) -> Any:
        """The derivatives of Σ mass value in the weights."""
        function, _, inputs = self._bound(known, arrays)
        return function.weights_times(mass.astype(np.float64), inputs)

    def curvature(self, known: Any, mass: Any, arrays: Any, direction: Any) -> Any:
        """Along a direction, the derivatives of the values and of the derivatives of Σ mass value."""
        function, kept, inputs = self._bound(known, arrays)
        slope, change = function.curvature(inputs, _packed(direction, kept), mass.astype(np.float64))
        return slope, _spread(change, kept)

    def _best(self, weights: Any, columns: Any, lengths: Any) -> Any:
        shape = next(iter(columns.values())).shape[:2]
        kept, inputs = score_checks.kept_positions(lengths, shape), {}
        for name, one in columns.items():
            inputs[name] = one[kept].reshape(-1, prod(one.shape[2:])).astype(np.float64)
            score_checks.check_scores(name, inputs[name], kept)
        model = self.model(weights)
        predictor = model.prepare(self.template.corpus(kept.sum(1), inputs))
        best = best_codes(model.predict(predictor, threads=self.template.workers.threads), kept.sum(1))
        found = {label: np.full(shape, UNKNOWN) for label in self.template.labels}
        for label, codes in found.items():
            codes[kept] = best[label]
        return found


# derivatives: `known` are lengths and codes, `counts` are derivatives with a mass of 1 for each sentence --------------


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _value(functions: TemplateFunctions, known: Any, arrays: list[Array]) -> Array:
    """log Z [B], or log p."""
    return _called(functions.values, _like(arrays)[0], known, arrays)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _value_and_counts(functions: TemplateFunctions, known: Any, arrays: list[Array]) -> Any:
    """The same and counts. These are for `_derivatives` alone, which knows their own derivatives."""
    return _called(functions.derivatives, _like(arrays), known, arrays)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _derivatives(functions: TemplateFunctions, known: Any, mass: Array, arrays: list[Array], counts: Any) -> Any:
    """The derivatives of Σ mass value."""
    first = mass[:1].sum()
    weights = jax.lax.cond(
        (mass == first).all(),
        lambda: (first * counts[0]).astype(counts[0].dtype),
        lambda: _called(functions.weights_times, _like(arrays)[1][0], known, mass, arrays),
    )
    return [weights, *(mass[:, None, None] * table for table in counts[1:])]


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _curvature(functions: TemplateFunctions, known: Any, mass: Array, arrays: list[Array], direction: Any) -> Any:
    """Along a direction, the derivatives of the values and of `_derivatives`."""
    return _called(functions.curvature, _like(arrays), known, mass, arrays, direction)


@_curvature.defjvp
def _refuse(functions: TemplateFunctions, *_: Any) -> Any:
    raise NotImplementedError("`log_partition` and `log_prob` have no third derivative")


def _forward(functions: TemplateFunctions, known: Any, arrays: list[Array]) -> Any:
    value, counts = _value_and_counts(functions, known, arrays)
    return (value, counts), (known, arrays, counts)


def _value_forward(functions: TemplateFunctions, known: Any, arrays: list[Array]) -> Any:
    (value, _), kept = _forward(functions, known, arrays)
    return value, kept


def _backward(functions: TemplateFunctions, kept: Any, mass: Any) -> Any:
    known, arrays, counts = kept
    return None, _derivatives(functions, known, mass[0], arrays, counts)


def _curved(functions: TemplateFunctions, kept: Any, direction: Any) -> Any:
    slope, change = _curvature(functions, *kept, direction)
    return None, slope, change, None


_value.defvjp(_value_forward, lambda functions, kept, mass: _backward(functions, kept, (mass,)))
_value_and_counts.defvjp(_forward, _backward)
_derivatives.defvjp(lambda *given: (_derivatives(*given), given[1:4]), _curved)


# arrays ---------------------------------------------------------------------------------------------------------------


def _called(function: Callable[..., Any], like: Any, *arrays: Any) -> Any:
    """A function of arrays of numpy: at once, so that errors are its own, or from within a compiled program.

    On the CPU by buffers: `pure_callback` copies arrays by the threads that run programs, so it waits for ever where
    there is one thread.
    """

    def call(*given: Any) -> Any:
        found = function(*jax.tree.map(np.asarray, given))
        return jax.tree.map(lambda one, of: np.asarray(one, of.dtype), found, like)

    def fill(_: Any, buffers: Any, *given: Any) -> None:
        for buffer, one in zip(jax.tree.leaves(buffers), jax.tree.leaves(call(*given)), strict=True):
            np.asarray(buffer)[...] = one

    # What comes back does not say over which axes it varies, so derivatives would be wrong. JAX 0.10 refuses by itself.
    if any(getattr(jax.typeof(one), "vma", None) for one in jax.tree.leaves(arrays)):
        raise NotImplementedError("`jax.shard_map` needs `check_vma=False` around functions of a dcrfdsl template")
    if not any(isinstance(one, jax.core.Tracer) for one in jax.tree.leaves(arrays)):
        return jax.tree.map(jnp.asarray, call(*arrays))
    on_cpu = buffer_callback(fill, like, vmap_method="sequential")
    elsewhere = partial(jax.pure_callback, call, like, vmap_method="sequential")
    return jax.lax.platform_dependent(*arrays, cpu=on_cpu, default=elsewhere)


def _like(arrays: list[Array]) -> Any:
    """Shapes and types of values and of derivatives."""
    of = [ShapeDtypeStruct(one.shape, one.dtype) for one in arrays]
    return ShapeDtypeStruct(of[1].shape[:1], of[1].dtype), of


def _floats(what: str, values: Any) -> Array:
    found = jnp.asarray(values)
    if not jnp.issubdtype(found.dtype, jnp.floating):
        raise ValueError(f"{what} are floats, found {found.dtype}")
    return found.astype(jnp.float32) if found.dtype.itemsize < 4 else found


def _whole(what: str, values: Any) -> Array | None:
    found = None if values is None else jnp.asarray(values)
    if found is not None and found.size and not jnp.issubdtype(found.dtype, jnp.integer):
        raise ValueError(f"{what} are whole numbers, found {found.dtype}")
    return found


def _packed(arrays: Any, kept: Mask) -> Arrays:
    """Tables [B, T, …] as [N, …], in float64."""
    return [arrays[0].astype(np.float64), *(table[kept].astype(np.float64) for table in arrays[1:])]


def _spread(arrays: Arrays, kept: Mask) -> Arrays:
    """The reverse."""
    found = [np.zeros((*kept.shape, table.shape[1])) for table in arrays[1:]]
    for out, table in zip(found, arrays[1:], strict=True):
        out[kept] = table
    return [arrays[0], *found]


def _possible(known: Any, values: Any) -> Any:
    if known[1] is not None:
        score_checks.check_possible(values)
    return values
