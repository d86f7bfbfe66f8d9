"""Heads on the scores of a network: a softmax, a chain of pytorch-crf for the chunks, a template for both labels.

    loss     minus the log probability of a sentence's labels, the mean over the batch: the same unit for all heads
    decode   the labels, and the probability of each token's chunk

Not here: the network (`net`), training (`run`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from net import UNKNOWN, Batch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot

from dcrfdsl.torch import Layer

TEMPLATE = Path(__file__).parent / "tags.dcrf"
Scores = Mapping[str, Tensor]
States = Mapping[str, Sequence[str]]


class Decoded(NamedTuple):
    """codes: by label, [B, T].   probability: of the chunk of each token by itself, [B, T]."""

    codes: dict[str, Tensor]
    probability: Tensor


def _missed(scores: Tensor, tags: Tensor) -> Tensor:
    """−Σ log p of tags that are independent of each other, the mean over the batch."""
    return cross_entropy(scores.flatten(0, 1), tags.flatten(), ignore_index=UNKNOWN, reduction="sum") / len(tags)


def _probability_of(codes: Tensor, marginals: Tensor) -> Tensor:
    """[B, T] of codes [B, T], by marginals [B, T, K]."""
    return marginals.gather(-1, codes.clamp(min=0)[..., None])[..., 0]


class SoftmaxHead(nn.Module):
    """Each label of each token by itself."""

    def __init__(self, states: States):
        super().__init__()

    def loss(self, scores: Scores, batch: Batch) -> Tensor:
        return _missed(scores["pos"], batch.tags["pos"]) + _missed(scores["chunk"], batch.tags["chunk"])

    def decode(self, scores: Scores, batch: Batch) -> Decoded:
        codes = {label: one.argmax(-1) for label, one in scores.items()}
        return Decoded(codes, _probability_of(codes["chunk"], scores["chunk"].softmax(-1)))


class ChainHead(nn.Module):
    """The chunks as a chain of pytorch-crf; it has one label, so parts of speech have a softmax."""

    def __init__(self, states: States):
        from torchcrf import CRF

        super().__init__()
        self.chain = CRF(len(states["chunk"]), batch_first=True)

    def loss(self, scores: Scores, batch: Batch) -> Tensor:
        tags = batch.tags["chunk"].clamp(min=0)
        chunks = self.chain(scores["chunk"], tags, mask=batch.kept, reduction="sum") / len(tags)
        return _missed(scores["pos"], batch.tags["pos"]) - chunks

    def decode(self, scores: Scores, batch: Batch) -> Decoded:
        found = self.chain.decode(scores["chunk"], mask=batch.kept)
        chunk = nn.utils.rnn.pad_sequence(list(map(torch.tensor, found)), True)
        codes = {"pos": scores["pos"].argmax(-1), "chunk": chunk}
        return Decoded(codes, _probability_of(chunk, self._marginals(scores, chunk, batch)))

    def _marginals(self, scores: Scores, tags: Tensor, batch: Batch) -> Tensor:
        """pytorch-crf has none. They are what the gradient of log p(tags) in the scores lacks of the tags' own 1s."""
        with torch.enable_grad():
            emissions = scores["chunk"].detach().requires_grad_()
            (slope,) = torch.autograd.grad(self.chain(emissions, tags, mask=batch.kept), emissions)
        return one_hot(tags, slope.shape[-1]) - slope


class TemplateHead(nn.Module):
    """Both labels by `tags.dcrf`: two chains, tied at each token."""

    def __init__(self, states: States):
        super().__init__()
        self.layer = Layer(TEMPLATE, states=states, threads=torch.get_num_threads())

    def _distribution(self, scores: Scores, batch: Batch):
        return self.layer({f"{label}_scores": one for label, one in scores.items()}, batch.lengths)

    def loss(self, scores: Scores, batch: Batch) -> Tensor:
        return -self._distribution(scores, batch).log_prob(batch.tags).mean()

    def decode(self, scores: Scores, batch: Batch) -> Decoded:
        d = self._distribution(scores, batch)
        return Decoded(d.mode, _probability_of(d.mode["chunk"], d.marginals["chunk"]))


HEADS = {"softmax": SoftmaxHead, "pytorch-crf": ChainHead, "template": TemplateHead}
