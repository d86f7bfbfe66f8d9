"""Decoders behind networks: legal labels and probabilities of segments, against sums over all labellings."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dcrfdsl import DcrfError, DcrfWarning, fit, load_text
from dcrfdsl.transformers import Decoder

Names = Sequence[str]
BIO = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
BIOES = ("S-X", "O", "E-X", "B-X", "I-X")
BILOU = ("O", "B-X", "I-X", "L-X", "U-X")
IOB1 = ("O", "I-PER", "I-LOC", "B-LOC")  # B-PER never occurs
TYPES = ("LOC", "O", "PER")
NO_OUTSIDE = ("NOUN", "VERB")


def random_logits(tokens: int, names: Names, seed: int) -> NDArray[np.float64]:
    return 3.0 * np.random.default_rng(seed).normal(size=(tokens, len(names)))


# the obvious twin -----------------------------------------------------------------------------------------------------


def is_legal(labels: Names, names: Names) -> bool:
    """Whether each I continues a segment of its type, and each B of schemes with ends is continued."""
    marks = [label.split("-", 1) if "-" in label else [label, ""] for label in ["O", *labels, "O"]]
    ends = any(name[:2] in ("E-", "L-") for name in names)
    goes_on = "IEL" if ends else "I"
    for (mark, kind), (after, after_kind) in pairwise(marks):
        is_open = mark in ("B", "I")
        if after in goes_on and after != "O" and not (is_open and kind == after_kind):
            return False
        if ends and is_open and after not in goes_on:
            return False
    return True


def segments_in(labels: Names) -> set[tuple[str, int, int]]:
    """(type, first, last) by the rules of legal labellings of `bio` and schemes with ends."""
    found, start = set(), 0
    for t, label in enumerate(labels):
        if label[0] in "BSU":
            start = t
        nxt = labels[t + 1] if t + 1 < len(labels) else "O"
        if label != "O" and not (nxt[0] in "IEL" and nxt[2:] == label[2:]):
            found.add((label[2:], start, t))
    return found


def every_labelling(logits: NDArray[np.float64], names: Names) -> Iterator[tuple[tuple[str, ...], float]]:
    for codes in product(range(len(names)), repeat=len(logits)):
        labels = tuple(names[code] for code in codes)
        if is_legal(labels, names):
            yield labels, float(sum(logits[t, code] for t, code in enumerate(codes)))


@pytest.mark.parametrize("names", [BIO, BIOES, BILOU], ids=["bio", "bioes", "bilou"])
def test_labels_and_probabilities_are_those_of_all_legal_labellings(names: Names) -> None:
    decode = Decoder(id2label=names)
    every = [random_logits(tokens, names, seed) for seed, tokens in enumerate((1, 2, 4, 5))]
    texts = [" ".join("abcde"[: len(one)]) for one in every]
    offsets = [[(2 * t, 2 * t + 1) for t in range(len(one))] for one in every]
    answers = decode(every, texts, offset_mapping=offsets)
    for logits, labels, answer, text in zip(every, decode.labels(every), answers, texts, strict=True):
        scored = list(every_labelling(logits, names))
        best = max(scored, key=lambda one: one[1])[0]
        assert labels == list(best)
        total = sum(np.exp(score) for _, score in scored)
        expected = []
        for kind, first, last in sorted(segments_in(best), key=lambda one: one[1]):
            p = sum(np.exp(score) for one, score in scored if (kind, first, last) in segments_in(one)) / total
            expected.append((kind, pytest.approx(p), text[2 * first : 2 * last + 1], 2 * first, 2 * last + 1))
        assert [tuple(one.values()) for one in answer] == expected
        assert [list(one) for one in answer] == [["entity_group", "score", "word", "start", "end"]] * len(answer)


@pytest.mark.parametrize("names", [TYPES, NO_OUTSIDE], ids=["with O", "without O"])
def test_types_alone_are_runs(names: Names) -> None:
    """Without marks nothing is illegal: labels are the best of each word, a segment is a longest run of a type."""
    decode, logits = Decoder(id2label=names), random_logits(4, names, seed=3)
    best = [names[code] for code in logits.argmax(axis=1)]
    assert decode.labels(logits) == best
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    found = decode(logits, list("abcd"), word_ids=range(4))
    at = 0
    for one in found:
        first, last = one["start"] // 2, (one["end"] - 1) // 2
        assert best[at:first] == ["O"] * (first - at)
        code = names.index(one["entity_group"])
        p = np.prod(shares[first : last + 1, code])
        p *= np.prod([1 - shares[t, code] for t in (first - 1, last + 1) if 0 <= t < 4])
        assert (best[first : last + 1], one["score"]) == ([names[code]] * (last + 1 - first), pytest.approx(p))
        at = last + 1
    assert best[at:] == ["O"] * (4 - at)


def test_a_type_that_no_b_begins_may_begin_by_i() -> None:
    decode = Decoder(id2label=IOB1)
    logits = np.full((4, 4), -5.0)
    logits[[0, 1, 2, 3], [1, 1, 2, 3]] = 5.0
    assert decode.labels(logits) == ["I-PER", "I-PER", "I-LOC", "B-LOC"]
    found = decode(logits, ["Ada", "King", "Bath", "York"], word_ids=[0, 1, 2, 3])
    assert [(one["entity_group"], one["word"]) for one in found] == [
        ("PER", "Ada King"),
        ("LOC", "Bath"),
        ("LOC", "York"),
    ]


def test_labels_without_a_mark_beside_marks_are_left_out() -> None:
    names = ("O", "B-PER", "I-PER", "X", "[CLS]")
    with pytest.warns(DcrfWarning, match=r"`X`, `\[CLS\]` beside marks of segments"):
        decode = Decoder(id2label=names)
    logits = np.add(random_logits(5, names, seed=0), [0, 0, 0, 9, 9])
    assert decode.labels(logits) == Decoder(id2label=names[:3]).labels(logits[:, :3])


def test_types_of_any_characters_are_states() -> None:
    names = (
        "O",
        "B-credit card",
        "I-credit card",
        'B-"}\\',
        'I-"}\\',
        "B-in",
        "I-in",
        "B-Größe",
        "I-Größe",
        "B-人",
        "I-人",
    )
    logits = np.full((8, 11), -9.0)
    logits[range(8), [1, 2, 3, 4, 5, 7, 8, 9]] = 9.0
    found = Decoder(id2label=names)(logits, list("abcdefgh"), word_ids=range(8))
    assert [one["entity_group"] for one in found] == ["credit card", '"}\\', "in", "Größe", "人"]


@pytest.mark.parametrize("pieces", ["first", "average", "max"])
def test_a_decoder_can_be_pickled(pieces: str) -> None:
    decode, logits = Decoder(id2label=BIO, pieces=pieces), random_logits(9, BIO, seed=7)
    again = pickle.loads(pickle.dumps(decode))
    assert again.labels(logits, word_ids=WORD_IDS) == decode.labels(logits, word_ids=WORD_IDS)


# pieces of words ------------------------------------------------------------------------------------------------------

WORD_IDS = [None, 0, 0, 1, 2, 2, 2, None, None]


@pytest.mark.parametrize("pieces", ["first", "average", "max"])
def test_words_have_the_scores_of_their_pieces(pieces: str) -> None:
    logits = random_logits(9, TYPES, seed=5)
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    words = [shares[1:3], shares[3:4], shares[4:7]]
    made = {"first": lambda p: p[0], "average": lambda p: p.mean(axis=0), "max": lambda p: p[p.max(axis=1).argmax()]}
    expected = [TYPES[made[pieces](of_word).argmax()] for of_word in words]
    assert Decoder(id2label=TYPES, pieces=pieces).labels(logits, word_ids=WORD_IDS) == expected


def test_padding_and_special_pieces_are_no_words() -> None:
    decode, logits = Decoder(id2label=BIO), random_logits(9, BIO, seed=1)
    by_words = decode.labels(logits, word_ids=[None, 0, 1, 2, 3, 4, 5, None, None])
    assert by_words == decode.labels(logits[1:7])
    assert by_words == decode.labels(logits, special_tokens_mask=[1, 0, 0, 0, 0, 0, 0, 1, 1])
    text, offsets = "abcdef", [(0, 0), *((t, t + 1) for t in range(6)), (0, 0), (0, 0)]
    with_offsets = decode(logits, text, offset_mapping=offsets)
    assert with_offsets == decode(logits[1:7], text, offset_mapping=offsets[1:7])


def test_several_texts_are_answered_as_each_alone() -> None:
    decode = Decoder(id2label=BIO)
    logits = np.stack([random_logits(4, BIO, seed) for seed in range(3)])
    word_ids = [[0, 1, 2, 3], [0, 0, 1, None], [None, None, None, None]]
    texts = [list("abcd"), list("ab"), []]
    alone = [decode(*one[:2], word_ids=one[2]) for one in zip(logits, texts, word_ids, strict=True)]
    assert decode(logits, texts, word_ids=word_ids) == alone and alone[2] == []
    assert decode(list(logits), texts, word_ids=word_ids) == alone
    assert [len(of_text) for of_text in decode.labels(logits, word_ids=word_ids)] == [4, 2, 0]
    assert decode([], []) == [] and decode.labels([]) == []


def test_characters_of_words_are_those_of_their_pieces() -> None:
    decode, logits = Decoder(id2label=TYPES), np.full((5, 3), -5.0)
    logits[:, 2], logits[0] = 5.0, 0.0
    text, offsets = "New Yorkers", [(0, 0), (0, 3), (4, 8), (8, 11), (0, 0)]
    expected = [("PER", "New Yorkers", 0, 11)]
    for word_ids in ([None, 0, 1, 1, None], None):
        found = decode(logits, text, word_ids=word_ids, offset_mapping=offsets)
        assert [(one["entity_group"], one["word"], one["start"], one["end"]) for one in found] == expected
    (one,) = decode(logits, ["New", "Yorkers"], word_ids=[None, 0, 1, 1, None])
    assert (one["word"], one["start"], one["end"]) == ("New Yorkers", 0, 11)


# templates ------------------------------------------------------------------------------------------------------------

TEMPLATE = """data jsonl(word, logits: scores(tag), tag)
label tag in bio(PER, LOC)
clique tag: offset(logits)
forbid tag in {B-PER, I-PER} when word has /^[a-z]/
"""
LEARNED = """data jsonl(logits: scores(tag), tag)
label tag in bio(PER, LOC)
clique tag: offset(logits)
clique tag[-1], tag: bias
"""
TWO_COLUMNS = """data jsonl(a, b, logits: scores(tag), tag)
label tag in bio(PER, LOC)
clique tag: offset(logits) & a is x & b is y
"""


def test_a_template_may_read_the_words() -> None:
    decode, logits = Decoder(load_text(TEMPLATE), BIO), np.zeros((2, 5))
    logits[:, :2] = [1.0, 3.0]
    found = decode(logits, ["ada", "Ada"], word_ids=[0, 1])
    assert [(one["entity_group"], one["word"]) for one in found] == [("PER", "Ada")]
    assert decode.labels(logits, words=["Ada", "Ada"]) == ["B-PER", "B-PER"]
    with pytest.raises(DcrfError, match=r"the template reads the words, column `word`"):
        decode.labels(logits)


def test_moves_are_learned_from_scores_and_gold_labels() -> None:
    """The network calls every word a B; the model learns that an I comes after it."""
    logits = np.zeros((8, 3, 5))
    logits[:, :, 1] = 1.0
    unlearned = Decoder(id2label=BIO)
    assert unlearned.labels(logits[0]) == ["B-PER"] * 3
    corpus = unlearned.corpus(logits, [["B-PER", "I-PER", "O"]] * 8)
    decode = Decoder(fit(load_text(LEARNED), corpus), BIO)
    assert decode.labels(logits[0]) == ["B-PER", "I-PER", "O"]
    assert decode.model.evaluate(corpus)["segments(tag).f1"] == 1.0


@pytest.mark.parametrize("case", ["numbers", "names", "of pieces", "an array of pieces", "of words that were cut off"])
def test_gold_labels_may_be_of_words_or_of_pieces(case: str) -> None:
    """A text of a special piece, a word of two pieces, one of one piece, and a special piece."""
    of_pieces = [-100, 1, -100, 2, -100]
    gold = {
        "numbers": [1, 2], "names": ["B-PER", "I-PER"], "of pieces": of_pieces,
        "an array of pieces": np.array(of_pieces), "of words that were cut off": [1, 2, 0, 0],
    }[case]  # fmt: skip
    decode = Decoder(id2label=BIO)
    corpus = decode.corpus([np.zeros((5, 5))], [gold], word_ids=[[None, 0, 0, 1, None]])
    assert [corpus.columns["tag"].text(t) for t in range(corpus.num_tokens)] == ["B-PER", "I-PER"]


def test_words_that_were_cut_off_are_a_warning() -> None:
    decode, logits = Decoder(id2label=BIO), np.eye(5)[[0, 1]]
    with pytest.warns(DcrfWarning, match="words of text 1, from 1, have no piece and get no label"):
        (found,) = decode(logits, ["in", "Bath", "and", "York"], word_ids=[0, 1])
    assert found["word"] == "Bath"


def test_a_calibrated_model_has_other_probabilities_and_the_same_labels() -> None:
    names, logits = TYPES, random_logits(40, TYPES, seed=2)
    decode = Decoder(id2label=names)
    gold = [names[code] for code in np.random.default_rng(0).permutation(logits.argmax(axis=1))]
    dev = decode.corpus([logits], [gold])
    calibrated = Decoder(decode.model.calibration.calibrated(dev), names)
    assert calibrated.model.temperature < 0.9
    assert calibrated.labels(logits) == decode.labels(logits)
    words = list("abcdefghij" * 4)
    sure, less = (one(logits, words, word_ids=range(40)) for one in (decode, calibrated))
    assert np.mean([one["score"] for one in less]) < np.mean([one["score"] for one in sure])


def test_tensors_are_arrays() -> None:
    torch = pytest.importorskip("torch", reason="needs torch")
    decode, logits = Decoder(id2label=BIO), random_logits(3, BIO, seed=4)
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        tensor = torch.tensor(logits, dtype=dtype, requires_grad=True)
        assert decode.labels(tensor) == decode.labels(tensor.detach().double().numpy())
    mask = torch.tensor([[0, 0, 1]])
    assert decode.labels(torch.tensor(logits)[None], special_tokens_mask=mask) == [decode.labels(logits[:2])]


# what cannot be -------------------------------------------------------------------------------------------------------

THREE = np.zeros((3, 5))
REFUSED: dict[str, tuple[Any, str]] = {
    "shape": (lambda d: d.labels(np.zeros((3, 4))), r"text 1 have the shape \[3, 4\], expected \[pieces, 5\]"),
    "one number": (lambda d: d.labels(np.zeros(5)), r"have the shape \[5\]"),
    "texts": (lambda d: d([THREE], ["a", "b"]), r"`texts` are of 2 texts, and `logits` of 1"),
    "word ids": (lambda d: d.labels(THREE, word_ids=[0, 1]), r"`word_ids` of text 1 has 2 entries, and its logits 3"),
    "offsets": (
        lambda d: d(THREE, "a b c", word_ids=[0, 1, 2]),
        r"(?s)without `offset_mapping`.*return_offsets_mapping",
    ),
    "word ids below 0": (lambda d: d.labels(THREE, word_ids=[0, -1, 1]), r"text 1 are no numbers of words that rise"),
    "word ids of two texts": (
        lambda d: d.labels(THREE, word_ids=[0, 1, 0]),
        r"(?s)text 1 are no numbers of words that rise.*special_tokens_mask",
    ),
    "offsets of another text": (
        lambda d: d(THREE, "a b", offset_mapping=[(0, 1), (2, 3), (4, 5)]),
        r"has the characters \(4, 5\) in a text of 3",
    ),
    "offsets below 0": (lambda d: d(THREE, "a b", offset_mapping=[(-1, 1), (2, 3), (3, 3)]), r"characters \(-1, 1\)"),
    "words": (lambda d: d(THREE, ["a", "b", "c"]), r"(?s)texts are lists of words.*`word_ids`"),
    "words too few": (lambda d: d(THREE, ["a"], word_ids=[0, 0, 1]), r"`word_ids` has word 1, .* a list of 1 words"),
    "words too many": (lambda d: d.labels(THREE, words=["a"] * 4), r"`words` of text 1 are 4, expected 3"),
    "gold too few": (lambda d: d.corpus(THREE, ["O"], word_ids=[None, 0, 1]), r"are 1, expected at least 2"),
    "gold missing": (
        lambda d: d.corpus(THREE, [-100, 1, 2]),
        r"(?s)word 0 of .* label -100.*special_tokens_mask",
    ),
    "gold beyond": (lambda d: d.corpus(THREE, [0, 1, 5]), r"word 2 of text 1, from 0, has the label 5"),
    "gold of other pieces": (lambda d: d.corpus(THREE, [-100, 1], word_ids=[None, 0, 1]), r"has 2 entries"),
    "output": (lambda d: d.labels(SimpleNamespace(logits=THREE)), r"(?s)whole output of a network.*`.logits`"),
    "not a number": (lambda d: d.labels(np.full((1, 5), np.nan)), r"nan"),
    "half a word id": (lambda d: d.labels(THREE, word_ids=[0, 0.5, 1]), r"text 1 are no numbers of words that rise"),
    "ragged": (lambda d: d.labels([[[0.0, 1.0], [2.0]]]), r"(?s)no array: rows of several lengths.*list of \[T, K\]"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_arguments_that_do_not_fit_are_one_error(case: str) -> None:
    call, message = REFUSED[case]
    with pytest.raises(DcrfError, match=message):
        call(Decoder(id2label=BIO))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("pieces", ["average", "max"])
def test_a_piece_without_a_possible_label_is_refused(pieces: str) -> None:
    logits = np.zeros((3, 5))
    logits[1] = -np.inf
    decode = Decoder(id2label=BIO, pieces=pieces)
    with pytest.raises(DcrfError, match="largest score of piece 1, from 0, is `-inf`"):
        decode.labels(logits, word_ids=[0, 0, 1])
    assert len(decode.labels(logits, word_ids=[0, None, 1])) == 2


@pytest.mark.parametrize(
    ("id2label", "template", "message"),
    [
        ({0: "O", 2: "B-X"}, None, r"numbers 0, 2, expected 0, 1"),
        (["O", "B-X", "O"], None, r"has `O` twice"),
        (["O"], None, r"no type of segments"),
        (["O", "B_X", "I_X"], None, r"has `B_X`: marks of segments are written as in `B-PER`"),
        (["O", "X-B", "X-I"], None, r"has `X-B`: marks"),
        (["o", "b-x", "i-x"], None, r"has `b-x`: marks"),
        ({"O": 0, "B-X": 1}, None, r"(?s)`id2label` names numbers.*for name, number in label2id"),
        ([0, 1], None, r"labels that are no texts"),
        (None, LEARNED.replace("clique tag[-1], tag: bias\n", ""), r"(?s)an order of its own: `B-PER`.*id2label="),
        (
            ["O", "B-ORG", "I-ORG"],
            LEARNED.replace("clique tag[-1], tag: bias\n", ""),
            r"`id2label` has `B-ORG`, `I-ORG`",
        ),
        (BIO, TWO_COLUMNS, r"one column of its scores"),
    ],
)
def test_labels_that_do_not_fit_are_one_error(id2label: Any, template: str | None, message: str) -> None:
    with pytest.raises(DcrfError, match=message):
        Decoder(None if template is None else load_text(template), id2label)


def test_a_decoder_needs_labels_or_a_template() -> None:
    with pytest.raises(TypeError, match="takes a template, or `id2label`"):
        Decoder()
    with pytest.raises(DcrfError, match=r"(?s)`mean` is no way .* `first`, `average`, `max`"):
        Decoder(id2label=BIO, pieces="mean")


def test_an_order_that_a_template_lists_is_taken() -> None:
    listed = "data jsonl(logits: scores(tag), tag)\nlabel tag in {O, B-X, I-X}\nclique tag: offset(logits)"
    decode = Decoder(load_text(listed))
    assert decode.labels(np.eye(3)) == list(decode.names) == ["O", "B-X", "I-X"]


def test_a_model_file_is_no_template(tmp_path: Path) -> None:
    Decoder(id2label=BIO).model.save(tmp_path / "tags.model")
    with pytest.raises(DcrfError, match=r"(?s)tags.model` is a model file.*Decoder\(dcrfdsl.load\("):
        Decoder(tmp_path / "tags.model", BIO)
    with pytest.raises(TypeError, match="`template`"):
        Decoder(3, BIO)  # type: ignore[arg-type]


def test_scores_that_no_legal_labelling_fits_are_a_warning() -> None:
    logits = np.full((1, 5), -np.inf)
    logits[0, 2] = 1.0  # I-PER, which nothing began
    decode = Decoder(id2label=BIO)
    with pytest.warns(DcrfWarning, match=r"no legal labelling fits the scores of text 2"):
        found = decode([THREE, logits], [list("abc"), ["d"]], word_ids=[[0, 1, 2], [0]])
    assert found[1] == []


def test_numbers_of_labels_may_be_texts_as_in_json() -> None:
    by_text = Decoder(id2label={str(n): name for n, name in enumerate(BIO)})
    assert by_text.names == BIO


def test_corpora_without_words() -> None:
    decode = Decoder(id2label=["O", "B-PER", "I-PER"])
    assert decode.corpus([]).num_tokens == decode.corpus([np.zeros((0, 3))]).num_tokens == 0
    assert decode.labels([np.zeros((0, 3)), np.eye(3)[:1]]) == [[], ["O"]]
