"""The unrolled graph of a sentence under a trained model. Not here: drawings (`graph`), what a report says in them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..data import Corpus
from ..foundation import DcrfError, Diagnostic
from ..graph import GraphDrawing
from .reporting import Told, sentence_graph

if TYPE_CHECKING:
    from .tagging_model import TaggingModel


def sentence_drawing(model: TaggingModel, corpus: Corpus, number: int, told: Told) -> GraphDrawing:
    """The graph of a sentence, counted from 0.   told: `shown`, `details` and `kind` of a variable, by its name and
    position.
    """
    sentence = corpus.slice(number, number + 1)
    rows, relations = model.prepare(sentence).structure.features(sentence)
    pairs = [relations[model.graph.templates[n].clique].local(0, sentence.sentence_off) for n in model.graph.relational]
    drawing = sentence_graph(model.graph, sentence, 0, model.extractor, rows, pairs, told)
    return replace(drawing, title=f"sentence {number + 1} of {corpus.file}")


def drawn_with_labels(model: TaggingModel, corpus: Corpus, number: int) -> GraphDrawing:
    """The graph of a sentence whose circles say the labels that the model gives."""
    if not 0 <= number < corpus.num_sentences:
        raise missing_sentence(corpus, number)
    prediction = model.predict(corpus.slice(number, number + 1), threads=1)

    def told(name: str, position: int) -> tuple[str, tuple[str, ...], str]:
        if name not in prediction.codes:
            return "", (), ""
        state = prediction.states[name][int(prediction.codes[name][position])]
        return state, (f"labelled {state}",), ""

    return sentence_drawing(model, corpus, number, told)


def missing_sentence(corpus: Corpus, number: int) -> DcrfError:
    """The error of a number that no sentence has. They count from 0, in Python; commands count from 1."""
    count = f"`{corpus.file}` has {corpus.num_sentences:,} sentence{'s' * (corpus.num_sentences != 1)}"
    return DcrfError(
        Diagnostic("no-such-sentence", f"{count}, there is no number {number:,}", help="numbers count from 0")
    )
