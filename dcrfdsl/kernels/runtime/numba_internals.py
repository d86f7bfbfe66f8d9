"""All that the package takes of Numba beyond what Numba documents, in one place.

Kernels are compiled by Numba's stages with a lowering of our own (`linked_functions`) and cached by its cache with
files of our own (`kernel_cache`), so those modules extend private classes, and call and override private methods. A
minor version of Numba may change any of them, and the cache would hide it: what it cannot read is compiled anew. For
that reason `pyproject.toml` names the newest minor version that all tests passed with, and no later one is installed.

`tests/kernels/test_numba_internals.py` lists the methods and fields that are used of these names. It says what a
version of Numba lacks or has changed. How a new version is tried is in `docs/project/releasing.md`.

Not here: what Numba documents (`njit`, `types`, `config`, `extending`, events).
"""

from numba._dynfunc import make_function as make_function
from numba.core import ir as ir
from numba.core.caching import (
    CompileResultCacheImpl as CompileResultCacheImpl,
    FunctionCache as FunctionCache,
    _CacheLocator as _CacheLocator,
)
from numba.core.codegen import (
    JITCodeLibrary as JITCodeLibrary,
    _parse_refprune_flags as _parse_refprune_flags,
    get_host_cpu_features as get_host_cpu_features,
)
from numba.core.compiler import (
    CompilerBase as CompilerBase,
    CompileResult as CompileResult,
    DefaultPassBuilder as DefaultPassBuilder,
)
from numba.core.compiler_machinery import register_pass as register_pass
from numba.core.environment import Environment as Environment, _rebuild_env as _rebuild_env
from numba.core.lowering import Lower as Lower
from numba.core.registry import cpu_target as cpu_target
from numba.core.runtime._nrt_python import c_helpers as c_helpers
from numba.core.serialize import dumps as dumps
from numba.core.typed_passes import NativeLowering as NativeLowering
from numba.core.typing.npydecl import parse_dtype as parse_dtype
from numba.core.untyped_passes import IRProcessing as IRProcessing
