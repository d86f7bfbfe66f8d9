"""Derivatives of sums over labellings for PyTorch, and how padded tensors become the arrays of the engine.

    Places            where the tokens of a batch are in padded tensors
    PaddedFunction    a function of a batch whose tables are padded tensors
    BatchSum …        functions of weights and tables with derivatives, `torch.autograd.Function`

Tensors of tables are [B, T, assignments]; arrays have no padding, [N, assignments]. Not here: the layer
(`torch_layer`), the sums themselves (`scored_batches`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..foundation import Floats, Ints, Mask, dataclass, needed
from ..graph import Gold
from .scored_batches import Arrays, BatchFunction, ScoredBatch, all_equal

with needed("torch"):
    import torch
    from torch import Tensor
    from torch.autograd import Function


class Places:
    """Where the tokens of a batch are in padded tensors.   kept: [B, T].   lengths: [B].   tokens: [N], in B · T."""

    def __init__(self, kept: Mask):
        self.kept, self.shape = kept, kept.shape
        self.lengths: Ints = kept.sum(1, dtype=np.int64)
        self.tokens: Ints = np.flatnonzero(kept)
        self._all = len(self.tokens) == kept.size

    def taken(self, table: Tensor) -> NDArray[Any]:
        """Those of the tokens of a padded tensor, [N, …]."""
        padded = array_of(table)
        rows = padded.reshape(self.kept.size, *padded.shape[2:])
        return rows if self._all else rows[self.tokens]

    def spread(self, values: NDArray[Any], padding: float = 0.0) -> NDArray[Any]:
        """Values of the tokens [N, …] as [B, T, …]."""
        if not self._all:
            values, rows = np.full((self.kept.size, *values.shape[1:]), padding, values.dtype), values
            values[self.tokens] = rows
        return values.reshape(*self.shape, *values.shape[1:])


@dataclass(frozen=True)
class PaddedFunction:
    """A function of a batch whose tables are padded tensors."""

    function: BatchFunction
    places: Places

    def arrays(self, tensors: Sequence[Tensor]) -> Arrays:
        """Weights, and padded tables, as the engine has them."""
        return self.filled(self.function.room(), tensors)

    def filled(self, arrays: Arrays, tensors: Sequence[Tensor]) -> Arrays:
        """These arrays, with weights and tables written to them."""
        arrays[0][:] = array_of(tensors[0])
        for array, table in zip(arrays[1:], tensors[1:], strict=True):
            array[...] = self.places.taken(table)
        return arrays

    def times(self, counts: Arrays, mass: Tensor, tensors: Sequence[Tensor]) -> list[Tensor]:
        """The derivatives of Σ mass value.   counts: those with a mass of 1."""
        of = array_of(mass)
        if all_equal(of):
            return self.like(counts, tensors, float(of[0]))
        return self.like(self.function.times(counts, of, self.arrays(tensors)), tensors)

    def like(self, arrays: Sequence[Floats], tensors: Sequence[Tensor], factor: float = 1.0) -> list[Tensor]:
        """The other way, times a factor, in new memory, with the types and devices of these tensors."""
        own, *tables = (_product(array, factor, like) for array, like in zip(arrays, tensors, strict=True))
        values = [own, *map(self.places.spread, tables)]
        return [torch.from_numpy(value).to(like) for value, like in zip(values, tensors, strict=True)]


def array_of(tensor: Tensor) -> NDArray[Any]:
    tensor = tensor.detach().cpu()
    half = tensor.is_floating_point() and tensor.dtype not in (torch.float32, torch.float64)
    found: NDArray[Any] = (tensor.float() if half else tensor).numpy()
    return found


def _product(values: Floats, factor: float, like: Tensor) -> NDArray[Any]:
    out = np.empty(values.shape, np.float64 if like.dtype == torch.float64 else np.float32)
    return np.multiply(values, factor, out=out, casting="same_kind")


# derivatives ----------------------------------------------------------------------------------------------------------


class BatchSum(Function):
    """log Z or log p of each sentence [B] float64, from the weights and tables."""

    @staticmethod
    def forward(ctx: Any, padded: PaddedFunction, *tensors: Tensor) -> Tensor:
        ctx.padded = padded
        ctx.save_for_backward(*tensors)
        with padded.function.lent_room() as room:
            arrays = padded.filled(room, tensors)
            if any(ctx.needs_input_grad):
                values, ctx.counts = padded.function.derivatives(arrays)
            else:
                values = padded.function.values(arrays)
        return torch.from_numpy(values).to(tensors[0].device)

    @staticmethod
    def backward(ctx: Any, mass: Tensor) -> Any:
        padded, tensors = ctx.padded, ctx.saved_tensors
        if torch.is_grad_enabled():  # a graph of the derivatives is wanted
            return None, *_Derivatives.apply(padded, ctx.counts, mass, *tensors)
        return None, *padded.times(ctx.counts, mass, tensors)


class _Derivatives(Function):
    """The derivatives of Σ mass value, from those with a mass of 1."""

    @staticmethod
    def forward(ctx: Any, padded: PaddedFunction, counts: Arrays, mass: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.padded = padded
        ctx.save_for_backward(mass, *tensors)
        return tuple(padded.times(counts, mass, tensors))

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *direction: Tensor) -> Any:
        (mass, *tensors), padded = ctx.saved_tensors, ctx.padded
        slope, change = padded.function.curvature(padded.arrays(tensors), padded.arrays(direction), array_of(mass))
        return None, None, torch.from_numpy(slope).to(mass.device), *padded.like(change, tensors)


class ExpectedScore(Function):
    """The expected score of a labelling [B] float64, by weights and tables that follow those of the distribution."""

    @staticmethod
    def forward(ctx: Any, batch: ScoredBatch, places: Places, width: int, *tensors: Tensor) -> Tensor:
        padded = ctx.padded = PaddedFunction(batch, places)
        ctx.width = width
        ctx.save_for_backward(*tensors)
        own, by = padded.arrays(tensors[:width]), padded.arrays(tensors[width:])
        return torch.from_numpy(batch.expected_scores(own, by)).to(tensors[0].device)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, mass: Tensor) -> Any:
        tensors, width, padded, of = ctx.saved_tensors, ctx.width, ctx.padded, array_of(mass)
        own, by = padded.arrays(tensors[:width]), padded.arrays(tensors[width:])
        finite = [np.where(np.isfinite(one), one, 0.0) for one in by]
        _, change = padded.function.curvature(own, finite, of)
        _, counts = padded.function.derivatives(own)
        counts = padded.function.times(counts, of, own)
        return None, None, None, *padded.like(change, tensors[:width]), *padded.like(counts, tensors[width:])


class CriterionSum(Function):
    """A criterion of the language, a sum over sentences; float64."""

    @staticmethod
    def forward(ctx: Any, batch: ScoredBatch, places: Places, gold: Gold, criterion: str, *tensors: Tensor) -> Tensor:
        padded = PaddedFunction(batch, places)
        value, gradient = batch.criterion(padded.arrays(tensors), gold, criterion)
        ctx.gradient = padded.like(gradient, tensors)
        return torch.tensor(value, dtype=torch.float64, device=tensors[0].device)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, mass: Tensor) -> Any:
        return None, None, None, None, *(mass.to(one.dtype) * one for one in ctx.gradient)
