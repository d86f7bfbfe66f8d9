"""The decorators that compile every kernel, and how a kernel differs from an inner function.

`kernel` releases the interpreter lock, is cached between processes (`kernel_cache`) and may allocate. `inner` is for
functions that kernels call in their loops: it compiles without Numba's reference counts. With reference counts, every
call would increment and decrement a counter for each array of each NamedTuple argument, one atomic instruction each; on
small messages that cost three times the work itself. An inner function must not allocate (slices are fine): Numba
refuses to compile one that does. Python cannot call it (`linked_functions`): that saves a fifth of the compile time.
`entry` is an inner function that Python calls as well.

`inlined` is an inner function that LLVM merges into its caller. A call passes every array of every NamedTuple on the
stack; that takes half a microsecond, which is noticeable once per sequence. Inlining by Numba, before type inference
(`inline="always"`), compiles a tenth faster, but makes chains 10 % and messages 40 % slower.

Arguments that belong together form a NamedTuple (`tables.wiring`). It costs as much as its arrays one by one:
nothing where a function is called once a run. In a loop, a function takes a NamedTuple only if it needs most of it. A
kernel unpacks its NamedTuples before its loop, since each attribute access counts references.

What is not called is not compiled. Work that most data does not need therefore has its own kernel, which Python calls
when a status asks for it, or depends on an argument that may be None: its type decides which branch is compiled.

Two things cost compile time: a constant argument makes one version per constant (`np.int64(0)` does not), and assigning
an array to a slice costs two seconds in each process, for the error message about shapes (`dense.copy_run` avoids it).
Elements, slices, loops over ranges and new arrays are cheap (`lowering`, `allocation`).

`fast_…` lets LLVM reorder sums, and so vectorise them; it never assumes that inf and nan do not occur.

With `NUMBA_DISABLE_JIT` set nothing is compiled. NumPy's warnings are then silenced, since numbers must wrap around,
overflow and divide as in compiled code.

Also here: how wide the registers of this CPU are, and how inference on one sequence ended, as kernels return it.
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np
from numba import njit
from numba.core import config

from .kernel_cache import KernelCache
from .kernel_packs import adopt_pack, target_cpu
from .linked_functions import KernelCompiler, LinkedCompiler


def _lanes(features: str) -> int:
    """Doubles that a register holds on a CPU with these features."""
    present = set(features.split(","))
    return 8 if "+avx512f" in present else 4 if "+avx" in present else 2


adopt_pack()
LANES = _lanes(target_cpu()[1])

# how inference on one sequence ended; the messages to users are in `inference`
OK = 0
UNDERFLOW = 1  # linear space does not hold the numbers (or the workspace the sequence): another kernel must answer
IMPOSSIBLE = 2  # no labelling has a positive potential
GAVE_UP = 3  # a search ran out of its budget: whether a labelling exists is unknown
BROKEN = 4  # the labelling that was read off has potential zero: a search must mend it


FAST = {"reassoc", "contract", "nsz"}

COMMON: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
UNCOUNTED: dict[str, Any] = {"_nrt": False}  # Numba's own name; in its target options since 2015, not in its types

interpreted = np.errstate(all="ignore")

_Function = TypeVar("_Function", bound=Callable[..., Any])


class _Decorator(Protocol):
    def __call__(self, function: _Function, /) -> _Function: ...


def _decorator(is_linked: bool = False, **options: Any) -> _Decorator:
    if config.DISABLE_JIT:
        return interpreted
    if is_linked:
        options |= {"pipeline_class": LinkedCompiler, "no_cpython_wrapper": True}
    else:
        options |= {"pipeline_class": KernelCompiler}
    compile_when_called = njit(**COMMON, **options)

    def declare(function: _Function) -> _Function:
        dispatcher: Any = compile_when_called(function)
        dispatcher._cache = KernelCache(function, is_linked)  # what `cache=True` does with Numba's own cache
        typed: _Function = dispatcher
        return typed

    return declare


kernel = _decorator()
fast_kernel = _decorator(fastmath=FAST)
entry = _decorator(**UNCOUNTED)
inner = _decorator(is_linked=True, **UNCOUNTED)
fast_inner = _decorator(is_linked=True, **UNCOUNTED, fastmath=FAST)
inlined = _decorator(is_linked=True, **UNCOUNTED, forceinline=True)
fast_inlined = _decorator(is_linked=True, **UNCOUNTED, forceinline=True, fastmath=FAST)
