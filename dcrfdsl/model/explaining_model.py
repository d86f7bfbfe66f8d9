"""A trained model that says why it tags as it does. Not here: explanations themselves (`explanation`)."""

from __future__ import annotations

from ..data import Corpus
from ..foundation import DcrfError, Diagnostic, require_whole
from .explanation import Explanation, label_asked, question_of
from .predictor import Predictor
from .sentence_tagging import Sentence
from .tagging_model import TaggingModel


class ExplainingModel(TaggingModel):
    """A model that explains its predictions; see `TrainedModel`."""

    def explain(
        self,
        sentence: Sentence | Corpus,
        position: int,
        *,
        label: str | None = None,
        against: str | None = None,
    ) -> Explanation:
        """Why a position of a sentence has its label and not another one.

        sentence: as `tag` takes it, or a corpus of one sentence.
        position: from 0.
        label: its name; may be left out where the model has one label.
        against: the state to compare with; by default the likeliest one beside the chosen label.

        Returns an `Explanation`. Its contributions sum to the score of the best labelling with the chosen label less
        that of the best one with the other. Raises DcrfError where there is no such position, label or state, or where
        no possible labelling has the state there.

        >>> why = model.explain(["9", "Bath", "Lane"], 1)
        >>> why.chosen, why.contributions[0].feature
        ('I-STREET', 'bias')
        """
        name, predictor = label_asked(self.labels, label), self._one_sentence(sentence)
        require_whole(position, "position", least=0)
        length = 0 if predictor is None else predictor.corpus.num_tokens
        if predictor is None or position >= length:
            message = f"there is no position {position}: the sentence has {length} token{'s' * (length != 1)}"
            raise DcrfError(Diagnostic("no-such-position", message, help="positions count from 0"))
        chosen = int(self.predict(predictor, threads=1).codes[name][position])
        probabilities = self.marginals(predictor, threads=1)[0][name][position]
        return predictor.explain(self.weights, question_of(self.states, name, position, chosen, probabilities, against))

    def _one_sentence(self, sentence: Sentence | Corpus) -> Predictor | None:
        if not isinstance(sentence, Corpus):
            return self._on_sentence(sentence, None)
        if sentence.num_sentences != 1:
            message = f"`explain` takes one sentence, and the corpus has {sentence.num_sentences:,}"
            raise DcrfError(Diagnostic("no-such-sentence", message, help="give it `corpus.slice(n, n + 1)`"))
        return self.prepare(sentence)
