"""Rows of numbers as sentences of one token, so that scikit-learn's own checks can be asked of the estimators.

Those checks train on tables of numbers with a class a row. Here a row is a sentence whose only token has the numbers,
and the class is its label. Not here: the checks that make no sense (`tests/sklearn/test_estimator_checks.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_array

from dcrfdsl.sklearn import CRF, SequenceTagger

TEMPLATE = """data jsonl(x: vector({}), y)
label y
clique y: bias, x
train likelihood: optimizer = lbfgs(max_iterations = 5)
"""


def asked(tags: Tags) -> Tags:
    """Tags that make scikit-learn run its checks."""
    tags.input_tags.one_d_array, tags.input_tags.two_d_array = False, True
    tags.target_tags.required = True
    return tags


def gold(y: Any) -> list[list[str]]:
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    return [[str(value)] for value in np.asarray(y).ravel()]


def classes(predicted: Any) -> NDArray[np.float64]:
    return np.array([float(label) for (label,) in predicted])


class RowTagger(SequenceTagger):
    """A maximum-entropy classifier of rows."""

    def __init__(
        self, template: Any = None, *, stage: Any = None, threads: int = 1, registered: Any = None,
        sentence: str = "sentence", **settings: Any,
    ):  # fmt: skip
        super().__init__(template, stage=stage, threads=threads, registered=registered, sentence=sentence, **settings)

    def __sklearn_tags__(self) -> Tags:
        return asked(super().__sklearn_tags__())

    def fit(self, X: Any, y: Any = None, **others: Any) -> RowTagger:
        labels, rows = gold(y), check_array(X, estimator=self)
        given, self.template = self.template, TEMPLATE.format(rows.shape[1])
        try:
            return super().fit(rows[:, None, :], labels, **others)
        finally:
            self.template = given

    def predict(self, X: Any) -> NDArray[np.float64]:
        self._require_fitted()
        return classes(super().predict(check_array(X)[:, None, :]))

    def score(self, X: Any, y: Any = None, **others: Any) -> float:
        return super().score(check_array(X)[:, None, :], gold(y), **others)


class RowCrf(CRF):
    """The same by dictionaries of features."""

    def __init__(self, c2: float = 1.0, max_iterations: int = 5):
        super().__init__(c2=c2, max_iterations=max_iterations)

    def __sklearn_tags__(self) -> Tags:
        return asked(super().__sklearn_tags__())

    def fit(self, X: Any, y: Any = None, **others: Any) -> RowCrf:
        labels = gold(y)
        return super().fit(items(check_array(X, estimator=self)), labels, **others)

    def predict(self, X: Any) -> NDArray[np.float64]:
        self._require_fitted()
        return classes(super().predict(items(check_array(X))))

    def score(self, X: Any, y: Any = None, **others: Any) -> float:
        return super().score(items(check_array(X)), gold(y), **others)


def items(rows: NDArray[Any]) -> list[list[dict[str, float]]]:
    return [[{f"x{n}": float(value) for n, value in enumerate(row)} | {"bias": 1.0}] for row in rows]
