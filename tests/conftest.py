"""What pytest needs to know before any test: hypothesis profiles, `--update-golden`, which cases are `long`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from helpers import check_golden
from hypothesis import settings
from sampling import mark_rest, mark_seldom

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)


def pytest_configure(config: pytest.Config) -> None:
    """Where long tests are left out, most of the time goes into compiling: kernels are then optimized less.

    What they compute is the same. `NUMBA_OPT=3` takes those that users have, as `.ci/run` does.

    A run in the background of a shell ignores Ctrl-C, and so would the commands that tests interrupt.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.option.markexpr == "not long" and "numba" not in sys.modules:  # which reads it once
        os.environ.setdefault("NUMBA_OPT", "1")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the files of expected output anew")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_seldom(items)
    mark_rest(items)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """`golden(path, actual)`: the output is what the file says."""
    return partial(check_golden, update=request.config.getoption("--update-golden"))
