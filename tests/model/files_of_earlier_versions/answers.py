"""What a stored model is asked, and a feature function of one's own that one of them was trained with.

The making of the files and their test ask the same. Not here: what must come out.
"""

from __future__ import annotations

from typing import Any

import dcrfdsl


@dcrfdsl.feature
def vowels(word: str) -> str:
    """The vowels of a word."""
    return "".join(letter for letter in word if letter in "aeiou")


FUNCTIONS = {vowels.name: vowels}


def answers_of(model: dcrfdsl.TrainedModel, train: list[Any], new: list[Any]) -> dict[str, Any]:
    """Labels, probabilities and scores as JSON has them; None for what this model does not answer.

    train: the sentences of its training, as rows of all columns.
    new: sentences that it was not trained on.
    """
    data = model.spec.data
    assert data is not None
    corpus = dcrfdsl.corpus_from_rows(new, data)
    prediction = model.predict(corpus, threads=1)
    return {
        "labels": {label: prediction.texts(label) for label in model.labels},
        "states": {name: list(states) for name, states in model.states.items()},
        "num_weights": model.num_weights,
        "strongest": [
            [*names, list(states), weight] for *names, states, weight in model.explanations.strongest_weights(5)
        ],
        "marginals": _or_none(lambda: _lists(model.marginals(corpus, threads=1)[0])),
        "log_likelihood": _or_none(
            lambda: model.scores.log_likelihood(dcrfdsl.corpus_from_rows(train, data), threads=1)
        ),
        "nbest": _or_none(lambda: [one.score.tolist() for one in model.nbest(corpus, 2, threads=1).sentences]),
    }


def _or_none(ask: Any) -> Any:
    try:
        return ask()
    except dcrfdsl.DcrfError:
        return None


def _lists(tables: Any) -> dict[str, Any]:
    return {label: table.tolist() for label, table in tables.items()}
