"""Layers behind a network: a step of `dcrfdsl.torch.Layer` beside pytorch-crf, decoding of logits beside NumPy."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from figures import Figure, at_most, seconds_of, times_faster
from numpy.typing import NDArray
from peers import peer
from work import ROUNDS, SMOKE

from dcrfdsl.inference import Expectations
from dcrfdsl.kernels.optimization import subtract_labellings
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.transformers import Decoder

THREADS = 2
SENTENCES, TOKENS = (4, 8) if SMOKE else (32, 64)
STATES = (9,) if SMOKE else (9, 22, 64)
CHAINS = {"pos": 44, "np": 3}
STEPS = 1 if SMOKE else 20  # in a row, of which the mean is taken
CHAIN_GOALS = {9: 5.0, 22: 8.0, 64: 5.0}
FACTORIAL_GOAL, DECODING_GOAL = 20.0, 10.0
KERNEL_SHARE, MOST_OVERHEAD = 0.05, 0.3  # of a step beyond its kernels; milliseconds
TYPES = ("PER", "LOC", "ORG", "MISC", "TIME")
TEXTS = 50 if SMOKE else 10_000
RISE = 1e9  # by which Viterbi refuses a move


def layer_steps() -> Iterator[Figure]:
    """A layer of PyTorch: forward and backward, 32 sentences of 64 tokens, beside pytorch-crf; its overhead."""
    torch, torchcrf = peer("torch", "torch"), peer("torchcrf", "pytorch-crf")
    torch.set_num_threads(THREADS)
    size = f"float32, {SENTENCES} sentences of {TOKENS} tokens, {THREADS} threads"
    for count in STATES:
        layer, step = _step({"tag": count})
        ours, theirs = _seconds(step), _seconds(_step_of_peer(torch, torchcrf, count))
        yield Figure(
            f"chain layer, {count} states, a step", 1e3 * ours, "ms",
            f"−log p of known labels, its mean, and the derivatives in scores and moves; {size}; the peer has weights "
            "of first and last labels too",
            None if SMOKE else times_faster(CHAIN_GOALS[count]), 1e3 * theirs,
        )  # fmt: skip
        kernels = _seconds(_kernels(layer))
        over = 1e3 * (ours - (1 + KERNEL_SHARE) * kernels)
        yield Figure(
            f"chain layer, {count} states, beyond its kernels", over, "ms",
            f"the step above less {1 + KERNEL_SHARE:g} times its kernels' own time, {1e3 * kernels:.3f} ms: expected "
            "counts, and the score and counts of the known labels, in arrays that are there",
            None if SMOKE else at_most(MOST_OVERHEAD),
        )  # fmt: skip
    _, step = _step(CHAINS)
    product = int(np.prod([*CHAINS.values()]))
    yield Figure(
        f"factorial layer, {' × '.join(map(str, CHAINS.values()))} states, a step", 1e3 * _seconds(step), "ms",
        f"two chains, a clique between them at each token; {size}; the peer is a chain over all pairs of labels, "
        f"{product} states, the same labellings",
        None if SMOKE else times_faster(FACTORIAL_GOAL), 1e3 * _seconds(_step_of_peer(torch, torchcrf, product)),
    )  # fmt: skip


def logit_decoding() -> Iterator[Figure]:
    """Logits of 10,000 sentences to legal labels (BIOES, 21 states), against a Viterbi in NumPy."""
    rng = np.random.default_rng(0)
    names = ["O", *(f"{mark}-{kind}" for kind in TYPES for mark in "BIES")]
    logits = [rng.normal(size=(length, len(names))) for length in rng.integers(5, 41, TEXTS)]
    decode = Decoder(id2label=names, threads=THREADS)
    found = decode.labels(logits)
    moves, first, last = _legal_moves(names)
    start = time.perf_counter()
    expected = [[names[k] for k in _viterbi(scores, moves, first, last)] for scores in logits]
    theirs = time.perf_counter() - start
    assert found == expected
    yield Figure(
        "decoding logits", seconds_of(lambda: decode.labels(logits), ROUNDS), "s",
        f"{TEXTS:,} sentences of 5 to 40 tokens, arrays in memory, {len(names)} labels, to lists of names, {THREADS} "
        "threads; the peer is a loop over tokens whose step is one NumPy expression for all pairs of labels; both find "
        "the same labels",
        None if SMOKE else times_faster(DECODING_GOAL), theirs,
    )  # fmt: skip


def _seconds(step: Callable[[], object]) -> float:
    """Of one step, by the median of rounds."""
    for _ in range(2):
        step()

    def several() -> None:
        for _ in range(STEPS):
            step()

    return seconds_of(several, ROUNDS) / STEPS


def _step(sizes: Mapping[str, int]) -> tuple[Any, Callable[[], None]]:
    """A layer over labels with these numbers of states, and a step of training."""
    torch = peer("torch", "torch")
    import dcrfdsl.torch

    columns = ", ".join(f"{name}_scores: scores({name})" for name in sizes)
    lines = [f"data jsonl({columns}, {', '.join(sizes)})"]
    for name, count in sizes.items():
        lines += [
            f"label {name} in {{{', '.join(f'{name}{k}' for k in range(count))}}}",
            f"clique {name}: offset({name}_scores)",
            f"clique {name}[-1], {name}",
        ]
    if len(sizes) > 1:
        lines.append(f"clique {', '.join(sizes)}")
    layer = dcrfdsl.torch.Layer(load_text("\n".join([*lines, "infer exact", "train likelihood", ""])), threads=THREADS)
    scores = {
        f"{name}_scores": torch.randn(SENTENCES, TOKENS, count, requires_grad=True) for name, count in sizes.items()
    }
    tags = {name: torch.randint(0, count, (SENTENCES, TOKENS)) for name, count in sizes.items()}
    lengths = torch.full((SENTENCES,), TOKENS)

    def step() -> None:
        for leaf in (layer.weights, *scores.values()):
            leaf.grad = None
        (-layer(scores, lengths).log_prob(tags).mean()).backward()

    return layer, step


def _step_of_peer(torch: Any, torchcrf: Any, count: int) -> Callable[[], None]:
    crf = torchcrf.CRF(count, batch_first=True)
    scores = torch.randn(SENTENCES, TOKENS, count, requires_grad=True)
    tags = torch.randint(0, count, (SENTENCES, TOKENS))
    mask = torch.ones(SENTENCES, TOKENS, dtype=torch.bool)

    def step() -> None:
        for leaf in (scores, *crf.parameters()):
            leaf.grad = None
        (-crf(scores, tags, mask=mask, reduction="mean")).backward()

    return step


def _kernels(layer: Any) -> Callable[[], None]:
    """What a step computes by kernels, in arrays that are there."""
    batch = layer.template.batch(np.full(SENTENCES, TOKENS, np.int64))
    data, out = batch.data, Expectations.empty(batch.data)
    gradient, expected, score = np.zeros(data.num_weights), np.zeros(len(data.hard)), np.zeros(SENTENCES)
    labelling = data.ragged(np.zeros(SENTENCES * TOKENS, np.int32))
    potentials = batch.potentials(batch.room())

    def kernels() -> None:
        subtract_labellings(0, SENTENCES, data.problem, potentials, labelling, score, expected, gradient)
        batch.method.expectations(potentials, 0, SENTENCES, out, gradient, expected)

    return kernels


def _legal_moves(names: Sequence[str]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Penalties of moves [K, K], of first labels and of last labels [K]: 0, or `RISE` where BIOES forbids them."""
    opens = np.array([name[0] in "BI" for name in names])  # what must go on in a segment of its type
    goes_on = np.array([name[0] in "IE" for name in names])
    kind = np.array([name[2:] for name in names])
    same = kind[:, None] == kind[None, :]
    legal = np.where(opens[:, None], goes_on[None, :] & same, ~goes_on[None, :])
    return np.where(legal, 0.0, -RISE), np.where(goes_on, -RISE, 0.0), np.where(opens, -RISE, 0.0)


def _viterbi(scores: NDArray[Any], moves: NDArray[Any], first: NDArray[Any], last: NDArray[Any]) -> list[int]:
    """The best path, as it is written for one sentence."""
    best, back = scores[0] + first, []
    for row in scores[1:]:
        through = best[:, None] + moves
        back.append(through.argmax(axis=0))
        best = through.max(axis=0) + row
    path = [int((best + last).argmax())]
    for pointer in reversed(back):
        path.append(int(pointer[path[-1]]))
    return path[::-1]
