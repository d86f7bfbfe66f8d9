"""How much Python a step runs: calls and lines, which are the same in every run and on every machine, however busy.

Each turn of a loop counts, in comprehensions and generators too. Not here: what one call of a function in C does.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar

Result = TypeVar("Result")


def counted(step: Callable[[], Result]) -> tuple[Result, int]:
    """What a step returns, and how many calls, lines and returns of Python it takes.

    >>> few, many = (counted(lambda: [x for x in range(n)])[1] for n in (100, 200))
    >>> many - few
    100
    """
    count = 0

    def count_one(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += 1
        return count_one

    before = sys.gettrace()
    sys.settrace(count_one)
    try:
        result = step()
    finally:
        sys.settrace(before)
    return result, count
