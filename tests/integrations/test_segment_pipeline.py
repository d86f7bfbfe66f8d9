"""The pipeline of transformers with a decoder, on a small network that is made and trained here."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dcrfdsl import DcrfError

transformers = pytest.importorskip("transformers", reason="needs transformers: pip install -e '.[transformers]'")
torch = pytest.importorskip("torch", reason="needs torch")
tokenizers = pytest.importorskip("tokenizers", reason="needs tokenizers")

from dcrfdsl.transformers import Decoder, SegmentPipeline  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")

LABELS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
PIECES = (
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "ada",
    "king",
    "bath",
    "new",
    "york",
    "##ers",
    "##ton",
    "lives",
    "in",
    ".",
)
SENTENCES = (
    ("ada king lives in new york .", "B-PER I-PER O O B-LOC I-LOC O"),
    ("ada lives in bath .", "B-PER O O B-LOC O"),
    ("king lives in kington .", "B-PER O O B-LOC O"),
    ("new yorkers", "B-LOC I-LOC"),
)


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    vocabulary = {piece: number for number, piece in enumerate(PIECES)}
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.decoder = tokenizers.decoders.WordPiece()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]",
        model_max_length=32,
    )  # fmt: skip


@pytest.fixture(scope="module")
def network(tokenizer: Any) -> Iterator[Any]:
    """A BERT of one small layer, trained for a moment, so that it is often wrong."""
    torch.manual_seed(0)
    random.seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    names = dict(enumerate(LABELS))
    config = transformers.BertConfig(
        vocab_size=len(PIECES), hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=32, id2label=names, label2id={name: n for n, name in names.items()},
    )  # fmt: skip
    net = transformers.BertForTokenClassification(config)
    batch = tokenizer(
        [words.split() for words, _ in SENTENCES], is_split_into_words=True, padding=True, return_tensors="pt"
    )
    gold = torch.full(batch["input_ids"].shape, -100)
    for s, (_, labels) in enumerate(SENTENCES):
        before = None
        for t, word in enumerate(batch.word_ids(s)):
            if word is not None and word != before:
                gold[s, t] = LABELS.index(labels.split()[word])
            before = word
    steps = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(25):
        steps.zero_grad()
        net(**batch, labels=gold).loss.backward()
        steps.step()
    yield net.eval()
    torch.set_num_threads(threads)


TEXTS = ("ada king lives in new york.", "yorkers ada", "kington", "bath bath new king. ada", "")


def pipeline(network: Any, tokenizer: Any, **more: Any) -> Any:
    return transformers.pipeline(
        "token-classification", model=network, tokenizer=tokenizer, pipeline_class=SegmentPipeline, device=-1, **more
    )


def scores_of(network: Any, tokenizer: Any, text: str) -> tuple[Any, Any]:
    encoded = tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
    offsets = encoded.pop("offset_mapping")[0]
    with torch.no_grad():
        return network(**encoded).logits[0], (encoded.word_ids(0), offsets)


def test_the_pipeline_answers_as_the_decoder(network: Any, tokenizer: Any) -> None:
    found = pipeline(network, tokenizer)(list(TEXTS[:4]))
    decode = Decoder(id2label=network.config.id2label)
    for text, answer in zip(TEXTS, found, strict=False):
        logits, (word_ids, offsets) = scores_of(network, tokenizer, text)
        expected = decode(logits, text, word_ids=word_ids, offset_mapping=offsets)
        assert [one["score"] for one in answer] == pytest.approx([one["score"] for one in expected], abs=1e-5)
        keys = ("entity_group", "start", "end")
        assert [[one[key] for key in keys] for one in answer] == [[one[key] for key in keys] for one in expected]
        assert [one["word"] for one in answer] == [text[one["start"] : one["end"]] for one in answer]
    assert any(found)


@pytest.mark.parametrize("strategy", ["simple", "first", "average", "max"])
def test_answers_are_those_of_the_library_where_its_labels_are_legal(
    strategy: str, network: Any, tokenizer: Any
) -> None:
    theirs = transformers.pipeline(
        "token-classification", model=network, tokenizer=tokenizer, aggregation_strategy=strategy, device=-1
    )
    ours = pipeline(network, tokenizer, aggregation_strategy=strategy)
    same = 0
    for text in ("ada king lives in new york .", "ada lives in bath .", "king lives in bath", "new york"):
        expected, found = theirs(text), ours(text)
        spans = [(one["entity_group"], one["word"], one["start"], one["end"]) for one in expected]
        assert [(one["entity_group"], one["word"], one["start"], one["end"]) for one in found] == spans
        assert [set(one) for one in found] == [set(one) for one in expected]
        same += len(spans)
    assert same > 5


def test_labels_are_legal_where_those_of_the_library_are_not(network: Any, tokenizer: Any) -> None:
    """An I-LOC that nothing began, which the library calls a segment, is the best legal labelling here."""

    class Silly(SegmentPipeline):
        def _forward(self, model_inputs: Any) -> Any:
            outputs = super()._forward(model_inputs)
            logits = torch.full_like(outputs["logits"], -4.0)
            logits[..., 0], logits[0, 1, 4], logits[0, 1, 3] = 0.0, 2.0, 1.0
            return {**outputs, "logits": logits}

    (one,) = Silly(model=network, tokenizer=tokenizer, device=-1)("bath ada")
    assert (one["entity_group"], one["word"]) == ("LOC", "bath")
    legal = np.exp([0.0, -4.0, 1.0])  # O, B-PER, B-LOC of the first word, each before an O
    assert one["score"] == pytest.approx(legal[2] / legal.sum(), abs=0.05)


def test_a_decoder_of_ones_own_is_used(network: Any, tokenizer: Any) -> None:
    decode = Decoder(id2label=network.config.id2label)
    ours = pipeline(network, tokenizer, decoder=decode)
    assert ours.decoder is decode
    assert pickle.loads(pickle.dumps(ours))(TEXTS[0]) == ours(TEXTS[0])


@pytest.mark.parametrize("names", [LABELS[::-1], LABELS[:3]], ids=["order", "number"])
def test_a_decoder_of_other_labels_is_refused(names: tuple[str, ...], network: Any, tokenizer: Any) -> None:
    with pytest.raises(DcrfError, match=r"the decoder has the labels .*, the network O, B-PER, I-PER, B-LOC, I-LOC"):
        pipeline(network, tokenizer, decoder=Decoder(id2label=names))


def test_lists_of_words_and_many_texts(network: Any, tokenizer: Any) -> None:
    ours = pipeline(network, tokenizer)
    text = "ada king lives in new york ."
    assert ours(text.split(" "), is_split_into_words=True) == [ours(text)]
    assert [ours(text) for text in TEXTS[:3]] == ours(list(TEXTS[:3]), batch_size=3)


def test_a_long_text_is_read_by_windows(network: Any, tokenizer: Any) -> None:
    text = " ".join(["ada king lives in bath ."] * 12)
    found = pipeline(network, tokenizer, stride=8)(text)
    assert [one["start"] for one in found] == sorted({one["start"] for one in found})
    assert found[-1]["end"] > 200


def test_labels_of_pieces_are_refused_in_words(network: Any, tokenizer: Any) -> None:
    with pytest.raises(DcrfError, match=r"answers with segments, and `aggregation_strategy=\"none\"` asks for pieces"):
        pipeline(network, tokenizer, aggregation_strategy="none")("ada")
