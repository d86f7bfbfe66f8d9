"""`cached_property` without a lock, on every version of Python.

Until Python 3.11, that of `functools` holds a lock while it computes: one for all objects of a class. Threads would
wait for each other, and a process forked meanwhile would wait forever. Here two threads that ask at the same time
compute the same value twice. Not here: values that must be computed only once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:

    class cached_property:
        """A property that is computed when it is first asked for."""

        def __init__(self, function: Callable[[Any], Any]):
            self.func, self.__doc__ = function, function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self.attrname = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            value = vars(instance)[self.attrname] = self.func(instance)
            return value
