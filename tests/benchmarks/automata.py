"""Models whose cost follows what is seen and what is possible, each beside its dense twin in the same run.

The corpora are generated: labels that few others follow, contexts of two labels that few follow, and parts of addresses
with a memory of the last part; one is real, the tags of UD English EWT. Both sides have the same features, weights and
sentences, and one thread.
"""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from figures import Figure, Target, times_faster
from peers import crfsuite_evaluation
from work import ROUNDS, SMOKE, objective, resolved_of, treebank_sentences

from dcrfdsl.criteria.likelihood import Likelihood
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.data.corpus import Corpus
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit

Sentences = list[list[tuple[str, str]]]

FIRST_ORDER = """
data conll(word, y)
label y
clique y: bias, word, word[-1], word[1]
clique y[-1], y with states = seen
infer exact
train likelihood: prior = gaussian(variance = 5)
"""
TAGGING = """
data conll(word, y)
label y
clique y with states = seen: word[-2..2], word[-1] & word, word & word[1], prefix(word, 1..4), suffix(word, 1..4)
clique y[-1], y with states = seen
infer exact
train likelihood: prior = gaussian(variance = 5)
"""
MEMORY = """
data conll(word, part)
label part
memory last in states(part) = part[-1] if part[-1] is not O else last[-1] initially O
clique part: bias, word[-1..1]
clique part[-1], part
clique part, last
infer exact
train likelihood: prior = gaussian(variance = 5)
"""
COMMAS = MEMORY.replace("if part[-1] is not O", "if word[-1] has /,$/")
INTENTS = """
data conll(word, slot, intent)
label slot
label intent for sentence
clique slot: bias, word, word[-1], word[1]
clique slot[-1], slot with states = seen
clique intent: bias, word
clique intent, slot with states = seen
infer exact
train likelihood: prior = gaussian(variance = 5)
"""


def _second(source: str) -> str:
    """A template of first order with a clique of second order."""
    return source.replace("infer", "clique y[-2], y[-1], y with states = seen\ninfer")


# corpora --------------------------------------------------------------------------------------------------------------


def _word(draw: np.random.Generator, label: int, words: int = 60) -> str:
    """A word, seen with few labels."""
    return f"w{label if draw.random() < 0.8 else draw.integers(words)}-{draw.zipf(1.5) % words}"


def moves(labels: int, seen: int, sentences: int, longest: int = 20, seed: int = 0) -> Sentences:
    """Random walks over `labels` labels, of which `seen` pairs may be neighbours."""
    draw = np.random.default_rng(seed)
    after = [draw.choice(labels, size=seen // labels, replace=False) for _ in range(labels)]
    for extra in draw.choice(labels, size=seen % labels, replace=False):
        after[extra] = np.append(after[extra], draw.integers(labels))
    out = []
    for _ in range(sentences):
        y, sentence = int(draw.integers(labels)), []
        for _ in range(int(draw.integers(2, longest))):
            sentence.append((_word(draw, y), f"L{y:03}"))
            y = int(draw.choice(after[y]))
        out.append(sentence)
    return out


def contexts(labels: int, pairs: int, triples: int, sentences: int, longest: int = 30, seed: int = 0) -> Sentences:
    """Walks in which `pairs` pairs of labels are neighbours, and about `triples` triples."""
    draw = np.random.default_rng(seed)
    follow = {a: draw.choice(labels, size=pairs // labels, replace=False) for a in range(labels)}
    each = max(1, round(triples / pairs))
    after = {(a, int(b)): draw.choice(follow[int(b)], size=each, replace=False) for a in follow for b in follow[a]}
    out = []
    for _ in range(sentences):
        a = int(draw.integers(labels))
        b, sentence = int(draw.choice(follow[a])), []
        for _ in range(int(draw.integers(2, longest))):
            sentence.append((_word(draw, a), f"L{a:03}"))
            a, b = b, int(draw.choice(after[a, b]))
        out.append(sentence)
    return out


def addresses(sentences: int, parts: int = 28, seed: int = 0) -> Sentences:
    """Parts of addresses in a usual order, one or two words each, with words outside any part between."""
    draw = np.random.default_rng(seed)
    rank = draw.permutation(parts)
    out = []
    for _ in range(sentences):
        chosen = draw.choice(parts, size=int(draw.integers(3, 12)), replace=False).tolist()
        sentence = []
        for part in sorted(chosen, key=lambda part: rank[part] + draw.normal(0, 1.5)):
            sentence += [(_word(draw, part), f"P{part:02}") for _ in range(int(draw.integers(1, 3)))]
            if draw.random() < 0.25:
                sentence.append((_word(draw, parts, 20), "O"))
        out.append(sentence)
    return out


def with_commas(sentences: Sentences, share: float = 0.15, seed: int = 0) -> Sentences:
    """The sentences with a comma after some words: half of them have none."""
    draw = np.random.default_rng(seed)
    return [
        [(f"{word}," if commas and draw.random() < share else word, part) for word, part in sentence]
        for sentence in sentences
        for commas in (draw.random() < 0.5,)
    ]


def requests(slots: int, seen: int, intents: int, sentences: int, seed: int = 0) -> list[list[tuple[str, str, str]]]:
    """Walks as those of `moves`, of which each intent has a few labels most of the time."""
    draw = np.random.default_rng(seed)
    usual = [frozenset(f"L{y:03}" for y in draw.choice(slots, size=25, replace=False)) for _ in range(intents)]
    out = []
    for walk in moves(slots, seen, sentences, seed=seed):
        fits = np.array([sum(label in labels for _, label in walk) for labels in usual]) + draw.random(intents)
        out.append([(word, label, f"I{fits.argmax():02}") for word, label in walk])
    return out


def covering(sentences: Sequence[Sequence[tuple[str, ...]]]) -> list[Sequence[tuple[str, ...]]]:
    """Some of the sentences, long ones first, with all labels."""
    seen: set[str] = set()
    out = []
    for sentence in sorted(sentences, key=len, reverse=True):
        labels = {row[1] for row in sentence}
        if not labels <= seen:
            out.append(sentence)
            seen |= labels
    return out


# passes ---------------------------------------------------------------------------------------------------------------


def _likelihood(source: str, corpus: Corpus, *, automaton: bool) -> Likelihood:
    """The likelihood by the automaton, or by the other exact form of the model."""
    found = objective(source, corpus, threads=1)
    if not automaton:
        found.method.automaton = None
    elif found.method.automaton is None:
        raise RuntimeError("the model is not computed by an automaton")
    return found


def median_seconds(tasks: list[Callable[[], object]], rounds: int = ROUNDS) -> list[float]:
    """Medians of processor time of tasks that take turns."""
    taken: list[list[float]] = [[] for _ in tasks]
    for task in tasks:
        task()  # compiles
    for _ in range(rounds):
        for task, seconds in zip(tasks, taken, strict=True):
            start = time.process_time()
            task()
            seconds.append(time.process_time() - start)
    return [statistics.median(seconds) for seconds in taken]


def _bound(source: str, sentences: Sequence[Sequence[tuple[str, ...]]]) -> Corpus:
    return corpus_from_rows(sentences, resolved_of(source).require().data)


def _pass(found: Likelihood) -> Callable[[], object]:
    """A pass at random weights."""
    return functools.partial(found.value_and_gradient, np.random.default_rng(0).normal(0, 0.3, found.num_weights))


def _beside(
    name: str, source: str, sentences: Sequence[Sequence[tuple[str, ...]]], target: Target, other: str | None = None, *,
    in_part: bool = False, crfsuite: Target | None = None,
) -> Iterator[Figure]:  # fmt: skip
    """A pass by the automaton beside the dense twin, or beside the dense pass of the template `other`; and beside
    CRFsuite's if there is a target for that. in_part: the peers get a part of the sentences, and as much time a token.
    """
    corpus = _bound(source, sentences)
    fewer = _bound(source, covering(sentences)) if in_part else corpus
    scale = corpus.num_tokens / fewer.num_tokens
    ours, dense = _likelihood(source, corpus, automaton=True), _likelihood(other or source, fewer, automaton=False)
    seconds = median_seconds([_pass(ours), _pass(dense)])
    found = ours.method.automaton.automaton.graph
    work = (
        f"-log p(y|x) and gradient, one thread, processor time, {corpus.num_tokens:,} tokens; an automaton of "
        f"{found.states:,} states and {found.moves:,} moves; peer: "
    )
    measured = f", measured on {fewer.num_tokens:,} of the tokens, with all labels, and scaled" if in_part else ""
    twin = "the same by the dense form" if other is None else "the dense first-order chain"
    yield Figure(f"{name} pass", seconds[0], "s", work + twin + measured, target, scale * seconds[1])
    if crfsuite is not None:
        theirs = scale * crfsuite_evaluation(source, "y", fewer)
        about = "an evaluation of CRFsuite's L-BFGS, with transitions that were seen, as is its default"
        yield Figure(f"{name} pass, CRFsuite", seconds[0], "s", work + about + measured, crfsuite, theirs)


def _to_the_end(name: str, source: str, sentences: Sequence[Sequence[tuple[str, ...]]]) -> Iterator[Figure]:
    """Training to convergence by the automaton, beside as many evaluations of the dense form."""
    corpus, over = _bound(source, sentences), ["train.optimizer=auto(max_iterations=3)"] if SMOKE else []
    fit(load_text(source, overrides=over), corpus.slice(0, 50), threads=2)  # compiles
    start, begun = time.process_time(), time.perf_counter()
    record = fit(load_text(source, overrides=over), corpus, threads=2).record
    ours, wall = time.process_time() - start, time.perf_counter() - begun
    (dense,) = median_seconds([_pass(_likelihood(source, corpus, automaton=False))])
    yield Figure(
        f"{name} to the end", ours, "s",
        f"training by an automaton, processor time of 2 threads; wall time {wall:.1f} s; {record.iterations} "
        f"iterations, {record.evaluations} evaluations, {record.end}; peer: as many evaluations by the dense form",
        times_faster(3), record.evaluations * dense,
    )  # fmt: skip


def sparse121() -> Iterator[Figure]:
    """A chain of 121 labels of which 500 pairs are seen: a pass beside the dense one, and beside CRFsuite's."""
    sentences = moves(121, 500, 100 if SMOKE else 4000)
    yield from _beside("121 labels, 500 moves", FIRST_ORDER, sentences, times_faster(4), crfsuite=times_faster(15))


def half100() -> Iterator[Figure]:
    """A chain of 100 labels of which half of all pairs are seen: a pass beside the dense one."""
    sentences = moves(100, 5000, 100 if SMOKE else 4000)
    yield from _beside("100 labels, 5,000 moves", FIRST_ORDER, sentences, times_faster(1.5))


def sparse1000() -> Iterator[Figure]:
    """A chain of 1,000 labels of which 8,000 pairs are seen: a pass beside the dense one, and beside CRFsuite's."""
    sentences = moves(1000, 8000, 100 if SMOKE else 3000)
    yield from _beside(
        "1,000 labels, 8,000 moves", FIRST_ORDER, sentences, times_faster(20), in_part=True, crfsuite=times_faster(100)
    )


def second_order45() -> Iterator[Figure]:
    """A chain of second order over 45 labels with 11,000 triples: a pass beside its dense twin, and beside a chain."""
    sentences = contexts(45, 1234, 11433, 100 if SMOKE else 4000)
    yield from _beside("second order, 45 labels", _second(FIRST_ORDER), sentences, times_faster(5))
    yield from _beside("second order beside first", _second(FIRST_ORDER), sentences, times_faster(1 / 4), FIRST_ORDER)


def second_order_tags() -> Iterator[Figure]:
    """The tags of UD English EWT with a tagger's features: a pass of second order beside one of first order."""
    tagged = treebank_sentences(lambda field: field[4], 100 if SMOKE else None)
    yield from _beside("tags, second order beside first", _second(TAGGING), tagged, times_faster(1 / 3), TAGGING)


def memory29() -> Iterator[Figure]:
    """A memory over 29 parts of 1,500 short addresses: a pass beside its dense twin."""
    yield from _beside("memory of 29 states", MEMORY, addresses(100 if SMOKE else 1500), times_faster(5))


def memory_commas() -> Iterator[Figure]:
    """A memory over 29 parts that changes after commas, 1,500 short addresses: a pass, and training to the end."""
    corpus = with_commas(addresses(100 if SMOKE else 1500))
    yield from _beside("memory that commas change", COMMAS, corpus, times_faster(10))
    yield from _to_the_end("memory that commas change", COMMAS, corpus)


def sentence121() -> Iterator[Figure]:
    """121 slots and 22 intents, one a sentence, as in ATIS: a pass beside its dense twin."""
    corpus = requests(121, 500, 22, 100 if SMOKE else 4978)
    yield from _beside("121 slots, 22 intents", INTENTS, corpus, times_faster(3))


def sentence121_trained() -> Iterator[Figure]:
    """The same corpus and model: training to the end. A minute or two: only by name."""
    yield from _to_the_end("121 slots, 22 intents", INTENTS, requests(121, 500, 22, 100 if SMOKE else 4978))
