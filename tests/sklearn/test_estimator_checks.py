"""scikit-learn's own checks of estimators, asked of sentences that are rows of numbers; those that make no sense, and
why.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest
from row_estimators import RowCrf, RowTagger
from sklearn.utils.estimator_checks import estimator_checks_generator

from dcrfdsl.sklearn import CRF, SequenceTagger

pytestmark = pytest.mark.long

NO_SENSE = {
    "check_n_features_in": "sentences have tokens, and no fixed number of features",
    "check_n_features_in_after_fitting": "sentences have tokens, and no fixed number of features",
}
OPTIONAL = {"check_array_api_input"}  # runs only where SciPy is told to use it

ESTIMATORS = {"SequenceTagger": RowTagger(), "CRF": RowCrf()}


def checks() -> dict[str, Callable[[], None]]:
    found: dict[str, Callable[[], None]] = {}
    for of, estimator in ESTIMATORS.items():
        for own, check in estimator_checks_generator(estimator, legacy=True):
            name = check.func.__name__
            if name in OPTIONAL:
                continue
            found[f"{of}-{name}-{len(found)}"] = lambda own=own, check=check: check(own)
    return found


CHECKS = checks()


@pytest.mark.filterwarnings("ignore")  # checks make odd data on purpose
@pytest.mark.parametrize("name", CHECKS)
def test_a_check_of_scikit_learn(name: str) -> None:
    check = name.split("-")[1]
    if check in NO_SENSE:
        with pytest.raises(AssertionError):
            CHECKS[name]()
    else:
        CHECKS[name]()


def test_there_are_checks_that_make_sense() -> None:
    assert {name.split("-")[1] for name in CHECKS} > set(NO_SENSE)
    assert len(CHECKS) > 30 * len(ESTIMATORS)


def test_by_its_tags_scikit_learn_knows_that_rows_are_not_for_it() -> None:
    """A list of sentences is no table, so only checks without data are asked of the estimator itself."""
    for estimator in (SequenceTagger("a.dcrf"), CRF()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            every = list(estimator_checks_generator(estimator))
        assert [check.func.__name__ for _, check in every] == ["check_estimator_cloneable"]
