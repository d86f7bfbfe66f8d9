"""Modules that are loaded when they are first used, and properties that are computed when they are first asked for.

`np` is for files that many import and few use: `dcrfdsl check` needs no array for most templates, and NumPy takes as
long to load as the check itself. Unlike the lazy modules of the standard library a `LazyModule` leaves `sys.modules`
alone, and threads may use it first at the same time.

`cached_property` is that of `functools` without its lock. Until Python 3.11 that lock was one for all objects of a
class: threads would wait for each other, and a process forked meanwhile would wait forever. Here two threads that ask
at the same time compute the same value twice. Not here: names of our own rooms, which `lazy_loader` loads late; values
that must be computed only once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

# modules --------------------------------------------------------------------------------------------------------------


class LazyModule:
    """A module that is imported when a name of it is asked for."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(import_module(self._name), attribute)
        setattr(self, attribute, value)  # is found without this function from now on
        return value


if TYPE_CHECKING:
    import numpy

    np = numpy
else:
    np = LazyModule("numpy")


# properties -----------------------------------------------------------------------------------------------------------


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
