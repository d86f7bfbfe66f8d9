"""A `TokenClassificationPipeline` of transformers that answers with legal segments and their probabilities.

How texts become pieces, and which pieces are one word, is the library's; labels and probabilities are the decoder's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..foundation import data_error, needed
from .logit_decoder import PIECES, Decoder

with needed("transformers"):
    from transformers import TokenClassificationPipeline
    from transformers.pipelines.token_classification import AggregationStrategy

_LEAST = np.finfo(np.float64).tiny  # a probability that the network has rounded to 0 is not impossible


class SegmentPipeline(TokenClassificationPipeline):
    """A `TokenClassificationPipeline` whose segments are legal, and whose scores are probabilities of segments.

    decoder: a `Decoder`; by default one of the network's `id2label`. DcrfError if its labels are others, or in another
        order.

    It is made and called as its base class is, or by `pipeline("token-classification", …)` with
    `pipeline_class=SegmentPipeline`. `aggregation_strategy` is `first` if nothing else is asked for; `average` and
    `max` are as there, and `simple` decides for each piece of a word by itself. `none`, which gives labels of pieces,
    is a DcrfError.
    """

    def __init__(self, *arguments: Any, decoder: Decoder | None = None, **others: Any):
        super().__init__(*arguments, **others)
        names = self.model.config.id2label
        self.decoder = Decoder(id2label=names) if decoder is None else decoder
        if list(self.decoder.names) != (of_network := [names[number] for number in sorted(names)]):
            message = f"the decoder has the labels {', '.join(self.decoder.names)}, the network {', '.join(of_network)}"
            raise data_error("bad-argument", message, help="make it with `id2label=model.config.id2label`")

    def postprocess(
        self,
        all_outputs: Any,
        aggregation_strategy: Any = AggregationStrategy.FIRST,
        ignore_labels: list[str] | None = None,
    ) -> list[dict[str, Any]]:
        """The segments of a text, as its base class gives them.

        all_outputs, ignore_labels: from the base class.
        aggregation_strategy: how the scores of a word are made.
        """
        found: list[dict[str, Any]] = super().postprocess(all_outputs, aggregation_strategy, ignore_labels)
        return found

    def aggregate(self, pre_entities: Sequence[Mapping[str, Any]], aggregation_strategy: Any) -> list[dict[str, Any]]:
        """Segments from pieces, in place of the base class's.

        pre_entities: the pieces of a text, with their probabilities.
        aggregation_strategy: how the scores of a word are made.
        """
        way = aggregation_strategy.value
        if way == "none":
            message = 'this pipeline answers with segments, and `aggregation_strategy="none"` asks for pieces'
            raise data_error("bad-argument", message, help=f"choose one of {', '.join(('simple', *PIECES))}")
        words: list[list[Mapping[str, Any]]] = []
        for piece in pre_entities:
            if words and way != "simple" and piece["is_subword"]:
                words[-1].append(piece)
            else:
                words.append([piece])
        if not words:
            return []
        make = PIECES["first" if way == "simple" else way]
        scores = np.array([make(np.log(np.maximum([one["scores"] for one in word], _LEAST))) for word in words])
        texts = [self._text(word) for word in words]
        return [
            {
                "entity_group": one.type,
                "score": one.probability,
                "word": self._text([piece for word in words[one.first : one.last + 1] for piece in word]),
                "start": words[one.first][0]["start"],
                "end": words[one.last][-1]["end"],
            }
            for one in self.decoder.segments([scores], [texts])[0]
        ]

    def _text(self, pieces: Sequence[Mapping[str, Any]]) -> str:
        text: str = self.tokenizer.convert_tokens_to_string([piece["word"] for piece in pieces])
        return text
