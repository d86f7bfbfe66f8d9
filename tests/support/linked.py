"""Functions that only kernels call, as tests call them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import njit


@cache
def called(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that calls the function."""

    @njit
    def call(*arguments: Any) -> Any:
        return function(*arguments)

    return call
