"""What pytest needs to know before any test: the hypothesis profiles, `--update-golden`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from helpers import check_golden
from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the files of expected output anew")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """`golden(path, actual)`: the output is what the file says."""
    return partial(check_golden, update=request.config.getoption("--update-golden"))
