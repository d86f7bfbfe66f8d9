"""How kernels are compiled: the decorators of every compiled function, and why an inner function is not a kernel.

`kernel` releases the interpreter lock, is kept between processes (`kernel_cache`) and may allocate. `inner` is for
functions that kernels call in their loops: it compiles without Numba's reference counts. With them, every call counts
up and down each array of each NamedTuple that it takes, one atomic instruction an array; on small messages that cost
three times the work itself. An inner function must not allocate (slices are fine): Numba refuses to compile one that
does.

`inlined` is an inner function that becomes part of its caller: a call passes every array of every NamedTuple on the
stack, which takes half a microsecond and shows where it is done for each sequence. LLVM puts it in place; where Numba
does so before it infers types (`inline="always"`), chains run 10 % slower and messages 40 %, to compile a tenth faster.

Arguments that belong together are a NamedTuple (`tables.arguments`). It costs what its arrays cost one by one: nothing
where a function is called once a run; in a loop, a function takes a bundle only if it needs most of it. A kernel takes
its bundles apart before its loop, since each look into one counts references.

What is not called is not compiled. So work that most data does not need has a kernel of its own, which Python calls
where a status asks for it, or hangs on an argument that may be None: its type decides which branch is compiled.

What costs compile time: a constant as an argument makes a version for each constant (`np.int64(0)` does not), and a
slice set to an array two seconds in each process, for the error message about their shapes (`dense.copy_run` does not).

`fast_…` lets LLVM reorder sums, and so vectorise them; it never assumes that inf and nan do not occur.

With `NUMBA_DISABLE_JIT` set nothing is compiled: then NumPy's warnings are silenced, since its numbers are to wrap
around, overflow and divide as compiled ones do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np
from numba import njit
from numba.core import config

from .kernel_cache import KernelCache

__all__ = ["fast_inner", "fast_kernel", "inlined", "inner", "kernel"]

FAST = {"reassoc", "contract", "nsz"}

COMMON: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
UNCOUNTED: dict[str, Any] = {"_nrt": False}  # Numba's own name; in its target options since 2015, not in its types

interpreted = np.errstate(all="ignore")

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Decorator(Protocol):
    def __call__(self, function: _Function, /) -> _Function: ...


def _decorator(**options: Any) -> _Decorator:
    if config.DISABLE_JIT:
        return interpreted
    compile_when_called = njit(**COMMON, **options)

    def declare(function: _Function) -> _Function:
        dispatcher: Any = compile_when_called(function)
        dispatcher._cache = KernelCache(function)  # as `cache=True` does with Numba's own
        typed: _Function = dispatcher
        return typed

    return declare


kernel = _decorator()
fast_kernel = _decorator(fastmath=FAST)
inner = _decorator(**UNCOUNTED)
fast_inner = _decorator(**UNCOUNTED, fastmath=FAST)
inlined = _decorator(**UNCOUNTED, forceinline=True)
