"""Modules that are loaded when they are first used: `np = LazyModule("numpy")` in files that many import and few use.

`dcrfdsl check` needs no array for most templates, and NumPy takes as long to load as the check itself. Unlike the lazy
modules of the standard library it leaves `sys.modules` alone, and threads may use it first at the same time. For types:

    if TYPE_CHECKING:
        import numpy as np
    else:
        np = LazyModule("numpy")

Not here: names of our own rooms, which `lazy_loader` loads late.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class LazyModule:
    """A module that is imported when a name of it is asked for."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(import_module(self._name), attribute)
        setattr(self, attribute, value)  # is found without this function from now on
        return value
