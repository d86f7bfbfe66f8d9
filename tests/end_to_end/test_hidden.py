"""Models with hidden parts on data from a known source: they train, tag, evaluate, and their hidden parts pay.

Each source draws sentences in which the words at hand do not say the label: what says it lies to the left, as the first
mention of a name, a verb that has come by, or a mode that nobody wrote down. A template whose skip edges, memories or
latent variable can carry that must then beat the same template without them.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from helpers import EXAMPLES
from sampling import some

from dcrfdsl.cli import run
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.model.trained_model import TrainedModel

TESTED = 40  # sentences that a model is tested on
Row = tuple[str, ...]
Sentence = list[Row]

LONG_RANGE = """
data conll(word, pos, phrase, ner)
label ner    in bioes(PER, LOC)
label phrase in bio(NP, VP)
latent done  in {no, yes}
features token:
    word[-1..1], shape(word)[-1..1]
clique ner: bias, token
clique ner[-1], ner: bias, shape(word)
clique ner[-2], ner[-1], ner as trigram with states = seen
clique ner[i], ner[j] as skip:
    where word[i] = word[j] and word[i] matches /[A-Z]\\w+/
    with min_gap = 2, max_gap = 200, link = next
    bias, word[i-1] & word[j-1]
clique phrase[-1], done[-1], phrase as upper
clique phrase, ner, done as descend
require phrase = phrase[-1] when done[-1] is no
infer trp: max_iterations = 200, tolerance = 1e-4, damping = 0.1
train likelihood:
    prior = gaussian(variance = 10)
"""
MEMORIES = """
data conll(word, pos, role)
label pos with missing = "_"
label role in bio(AGENT, PATIENT) with missing = "?", ambiguous = "|"
latent sense in 2
memory seen_verb = seen_verb[-1] or pos[-1] matches /VB.*/
memory last_role in states(role) = role[-1] if role[-1] is not O else last_role[-1] initially O
features token:
    word[-2..2], suffix(word, 2..3)
clique pos: bias, token
clique pos[-1], pos
clique role: bias, token
clique role[-1], role
clique role, seen_verb: bias, lower(word)
clique role, last_role
clique sense, role: bias, token
clique sense[-1], sense
infer trp
train likelihood:
    prior = gaussian(variance = 10)
    restarts = 2
    seed = 17
"""
MODES = """
data conll(word, act)
label act with missing = "_"
latent mode in 2
clique act: bias, word
clique act[-1], act
clique mode: bias, word
clique mode[-1], act
infer exact
train likelihood:
    prior = gaussian(variance = 10)
    restarts = 3
    seed = 1
"""


# sources ------------------------------------------------------------------------------------------------------------


def names_twice(rng: np.random.Generator) -> Sentence:
    """A name comes twice. Only the word before its first mention says what it is; no other sentence has the name.

    Phrases end where a hidden `done` says so, which is at every verb and after it.
    """
    kind = ["PER", "LOC"][int(rng.integers(2))]
    name = "N" + "".join("abcdefghij"[int(d)] for d in rng.integers(10, size=6))
    first = [("Mr" if kind == "PER" else "near", "O"), (name, f"S-{kind}")]
    between = [(["and", "or", "then"][int(k)], "O") for k in rng.integers(3, size=int(rng.integers(2, 5)))]
    words = [*first, *between, ("saw", "O"), (name, f"S-{kind}"), ("again", "O")]
    verb = [word for word, _ in words].index("saw")
    phrases = ["B-NP" if t < verb else "B-VP" if t == verb else "O" for t in range(len(words))]
    return [(word, "X", phrase, ner) for (word, ner), phrase in zip(words, phrases, strict=True)]


def before_and_after_a_verb(rng: np.random.Generator) -> Sentence:
    """A noun is the agent before the verb and the patient after it, however far. Some labels are not said."""

    def pause() -> list[Row]:
        return [("the", "DT", "O")] * int(rng.integers(3, 6))

    def noun(role: str) -> Row:
        return (["cat", "dog", "fox"][int(rng.integers(3))], "NN", f"B-{role}")

    before, after = ((1, 0), (0, 1), (1, 1))[int(rng.integers(3))]
    rows = [*pause(), *[noun("AGENT"), *pause()] * before, (["saw", "hit"][int(rng.integers(2))], "VBD", "O")]
    rows += [*pause(), *[noun("PATIENT"), *pause()] * after]
    return [(word, hide(rng, pos, "_"), hide(rng, role, "?", "|B-AGENT|B-PATIENT")) for word, pos, role in rows]


def hide(rng: np.random.Generator, label: str, missing: str, choice: str = "") -> str:
    drawn = rng.random()
    if drawn < 0.1:
        return missing
    return "B-AGENT|B-PATIENT" if choice and label[0] == "B" and drawn < 0.2 else label


def modes(rng: np.random.Generator) -> Sentence:
    """A word sets the mode of its position, and the mode decides the act of the next one."""
    words = [["up", "down", "left"][int(k)] for k in rng.integers(3, size=6)]
    acts = ["A", *("B" if before == "down" else "A" for before in words[:-1])]
    return [(word, act if rng.random() < 0.9 else "_") for word, act in zip(words, acts, strict=True)]


def drawn(source: Callable[[np.random.Generator], Sentence], count: int, seed: int) -> list[Sentence]:
    rng = np.random.default_rng(seed)
    return [source(rng) for _ in range(count)]


# models -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Model:
    """`hidden`: how the statements begin that carry what lies far away.   `measure`: the score that it shows in."""

    text: str
    source: Callable[[np.random.Generator], Sentence]
    sentences: int
    iterations: int
    measure: str
    hidden: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()

    def without(self) -> str:
        """The template without its hidden part: statements go with the lines indented below them."""
        kept, gone = [], False
        for line in self.text.splitlines():
            if line and not line[0].isspace():
                gone = any(re.match(start, line) for start in self.hidden)
            if not gone:
                kept.append(line)
        return "\n".join([*kept, ""])


MODELS = {
    "skip edges and a latent end of phrase": Model(
        LONG_RANGE, names_twice, 30, 10, "segments(ner).f1", (r"clique ner\[i\]",)
    ),
    "memories and a latent class": Model(
        MEMORIES, before_and_after_a_verb, 30, 10, "segments(role).f1",
        (r"latent", r"memory", r"clique sense", r"clique role, "),
    ),
    "a latent mode": Model(MODES, modes, 80, 60, "accuracy(act)", (r"latent", r"clique mode")),
}  # fmt: skip
LANGUAGE_EXAMPLES = {
    "03_long_range.dcrf": (names_twice, 15, 5),
    "04_latent_memory.dcrf": (before_and_after_a_verb, 20, 8),
}


def lines(sentences: list[Sentence], columns: slice = slice(None)) -> str:
    return "\n\n".join("\n".join(" ".join(row[columns]) for row in sentence) for sentence in sentences) + "\n"


def example(name: str) -> Model:
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    source, sentences, iterations = LANGUAGE_EXAMPLES[name]
    one_start = ("train.restarts=1",)
    return Model(text, source, sentences, iterations, "joint_accuracy", (), one_start)


@dataclass(frozen=True)
class Run:
    """A model trained by the command line, with what `train --json` and `eval --json` said."""

    model: Model
    file: Path
    iterations: list[dict]
    scores: dict[str, float]


def output(*words: str) -> str:
    """What a command writes to standard output; it must succeed."""
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), encoding="utf-8")) as out:
        assert run(list(words)) == 0
    out.flush()
    return out.buffer.getvalue().decode()


def trained(model: Model, text: str, place: Path) -> Run:
    (place / "model.dcrf").write_text(text, encoding="utf-8")
    (place / "train.txt").write_text(lines(drawn(model.source, model.sentences, 1)), encoding="utf-8")
    (place / "test.txt").write_text(lines(drawn(model.source, TESTED, 2)), encoding="utf-8")
    settings = (f"train.optimizer=lbfgs(max_iterations={model.iterations})", *model.overrides)
    sets = [word for setting in settings for word in ("--set", setting)]
    template, data, test, file = (str(place / name) for name in ("model.dcrf", "train.txt", "test.txt", "model"))
    said = output("train", template, data, "-o", file, "--json", "--quiet", *sets)
    scores = json.loads(output("eval", file, test, "--json"))
    return Run(model, Path(file), [json.loads(line) for line in said.splitlines()], scores)


@pytest.fixture(scope="module", params=some([*MODELS, *LANGUAGE_EXAMPLES], 2))
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    model = MODELS[request.param] if request.param in MODELS else example(request.param)
    return trained(model, model.text, tmp_path_factory.mktemp("whole"))


@pytest.mark.long
def test_training_ends_below_where_it_began(whole):
    """It begins at weights of zero, but for small random ones."""
    loaded = TrainedModel.load(whole.file)
    start = loaded.with_weights(np.zeros(loaded.num_weights), loaded.record)
    corpus = corpus_from_rows(drawn(whole.model.source, whole.model.sentences, 1), loaded.spec.data)
    assert whole.iterations[-1]["iterations"] == loaded.record.iterations >= 1
    assert whole.iterations[-1]["objective"] < -0.5 * start.scores.log_likelihood(corpus)


@pytest.mark.long
def test_tags_are_labels_only(whole):
    """The input comes out again with a state of each label, and nothing of the hidden variables."""
    loaded = TrainedModel.load(whole.file)
    labels = [label.name for label in loaded.spec.labels]
    test, observed = drawn(whole.model.source, TESTED, 2), len(loaded.spec.data.columns) - len(labels)
    plain = whole.file.parent / "plain.txt"
    plain.write_text(lines(test, slice(observed)), encoding="utf-8")
    blocks = output("tag", str(whole.file), str(plain), "--quiet").strip().split("\n\n")
    tagged = [[tuple(line.split()) for line in block.splitlines()] for block in blocks]
    assert [[row[:observed] for row in sentence] for sentence in tagged] == [
        [row[:observed] for row in sentence] for sentence in test
    ]
    for row in itertools.chain.from_iterable(tagged):
        assert len(row) == observed + len(labels)
        assert all(state in loaded.states[label] for label, state in zip(labels, row[observed:], strict=True))


def test_scores_are_those_of_labels(whole):
    spec = TrainedModel.load(whole.file).spec
    assert 0.5 < whole.scores[whole.model.measure] <= 1.0
    assert whole.scores["sentences"] == TESTED
    hidden = [variable.name for variable in (*spec.latents, *spec.memories)]
    assert hidden
    assert not [name for name in whole.scores if any(f"({variable})" in name for variable in hidden)]


@pytest.mark.long
@pytest.mark.parametrize("whole", MODELS, indirect=True)
def test_what_is_hidden_pays(whole, tmp_path):
    """On its source no template without it can do better than to guess; with it almost everything is right."""
    model = whole.model
    without = trained(model, model.without(), tmp_path)
    assert whole.scores[model.measure] >= 0.95
    assert without.scores[model.measure] <= 0.85
