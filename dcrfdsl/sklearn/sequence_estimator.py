"""What the estimators have in common as estimators of scikit-learn. Not here: training and predicting."""

from __future__ import annotations

from typing import Any

from ..foundation import Diagnostic, needed
from .input_errors import InputError

with needed("sklearn", "the estimators need the package `scikit-learn`"):
    import sklearn  # noqa: F401  before joblib, which it brings: so that what is missing is told apart
    from joblib.parallel import get_active_backend
    from sklearn.base import BaseEstimator
    from sklearn.exceptions import NotFittedError
    from sklearn.utils import Tags
    from sklearn.utils.validation import check_is_fitted


class SequenceEstimator(BaseEstimator):
    """An estimator whose samples are sentences and whose targets are lists of labels.

    It is no classifier in scikit-learn's sense, which has one class a sample: so folds are not stratified by y.
    """

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True  # of sentences, which differ in length
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.input_tags.dict = True
        tags.target_tags.one_d_labels = False
        tags.target_tags.multi_output = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _require_fitted(self) -> None:
        check_is_fitted(self)


def not_fitted(estimator: BaseEstimator) -> NotFittedError:
    """The error about an estimator without a model; an AttributeError too, so that `hasattr` is False."""
    name = type(estimator).__name__
    return NotFittedError(f"this {name} is not fitted: call `fit` first")


def required(X: Any, y: Any, names: tuple[str, str]) -> None:
    """InputError unless both are given, or neither."""
    if (X is None) != (y is None):
        absent, there = names if X is None else names[::-1]
        raise InputError(Diagnostic("label-count", f"`{there}` is given without `{absent}`"))


def threads_of(threads: int | None) -> int | None:
    """One thread where joblib runs several estimators at once and nothing else is asked for."""
    backend, _ = get_active_backend()
    return 1 if threads is None and backend.nesting_level else threads
