"""How kernels are compiled: four decorators, and why an inner function is not a kernel.

`kernel` releases the interpreter lock, is cached between processes and may allocate. `inner` is for functions that
kernels call in their loops: it compiles without Numba's reference counts. With them, every call counts up and down
each array of each NamedTuple that it takes, one atomic instruction an array; on small messages that cost three times
the work itself. An inner function must not allocate (slices are fine): Numba refuses to compile one that does.

`inlined` is an inner function that becomes part of its caller: a call passes every array of every NamedTuple on the
stack, which takes half a microsecond and shows where it is done for each sequence. LLVM puts it in place; where Numba
does so before it infers types (`inline="always"`), chains run 10 % slower and messages 40 %, to compile a tenth faster.

What costs compile time: a constant as an argument makes a version for each constant (`np.int64(0)` does not), and a
slice set to an array two seconds in each process, for the error message about their shapes (`dense.copy_run` does not).

`fast_…` lets LLVM reorder sums, and so vectorise them; it never assumes that inf and nan do not occur.

With `NUMBA_DISABLE_JIT` set nothing is compiled: then NumPy's warnings are silenced, since its numbers are to wrap
around, overflow and divide as compiled ones do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numba.core import config

__all__ = ["fast_inner", "fast_kernel", "inlined", "inner", "kernel"]

FAST = {"reassoc", "contract", "nsz"}

COMMON: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
UNCOUNTED: dict[str, Any] = {"_nrt": False}  # Numba's own name; in its target options since 2015, not in its types

interpreted = np.errstate(all="ignore")

kernel: Any = interpreted if config.DISABLE_JIT else njit(**COMMON)
fast_kernel = interpreted if config.DISABLE_JIT else njit(**COMMON, fastmath=FAST)
inner = interpreted if config.DISABLE_JIT else njit(**COMMON, **UNCOUNTED)
fast_inner = interpreted if config.DISABLE_JIT else njit(**COMMON, **UNCOUNTED, fastmath=FAST)
inlined: Any = interpreted if config.DISABLE_JIT else njit(**COMMON, **UNCOUNTED, forceinline=True)
