"""Compiles functions that only kernels call: into code to be linked into their callers, and nothing else.

Numba makes three things of each function: code that other functions link and inline, machine code of its own, and a
wrapper by which Python calls it. A function that Python never calls needs the first alone. Its callers contain it, and
are optimized as a whole; so it is not optimized by itself either, beyond what makes it small.

This uses Numba's way to change its stages (`pipeline_class`). Not here: the decorators (`compilation`), the cache
(`kernel_cache`).
"""

from __future__ import annotations

import ctypes
from typing import Any

from llvmlite.binding import parse_bitcode

from .numba_internals import (
    CompilerBase,
    CompileResult,
    DefaultPassBuilder,
    JITCodeLibrary,
    NativeLowering,
    make_function,
    register_pass,
)

# What Python meets when it calls such a function by mistake: a SystemError, and not a jump to nowhere.
_REFUSAL = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(lambda *_: None)
_REFUSAL_ADDRESS = ctypes.cast(_REFUSAL, ctypes.c_void_p).value


class _LinkedLibrary(JITCodeLibrary):
    """Code of one function and of those that it calls, for the linker only."""

    def _optimize_final_module(self) -> None:
        codegen = self._codegen
        manager, builder = codegen._module_pass_manager(
            loop_vectorize=False, slp_vectorize=False, opt=codegen._opt_level, cost="cheap"
        )
        manager.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    @classmethod
    def loaded(cls, codegen: Any, name: str, bitcode: bytes) -> _LinkedLibrary:
        """From the cache: optimized already."""
        library = cls(codegen, name)
        library._final_module = parse_bitcode(bitcode)
        library._finalize_final_module()
        return library

    def serialize_using_object_code(self) -> tuple[str, str, bytes]:
        """There is no object code: what is cached is the code to be linked."""
        return self.serialize_using_bitcode()  # type: ignore[no-any-return]


def _never_called(library: Any, description: Any, environment: Any) -> Any:
    """What stands for the function in Numba's tables."""
    name = description.qualname.rpartition(".")[2]
    return make_function(
        description.lookup_module(), name, f"{name}, for kernels only", _REFUSAL_ADDRESS, environment, (library,)
    )


@register_pass(mutates_CFG=True, analysis_only=False)
class _LinkedLowering(NativeLowering):
    """Lowers a function without emitting it."""

    _name = "linked_lowering"

    def run_pass(self, state: Any) -> bool:
        state.library = _LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        done = state["cr"]
        cfunc = _never_called(state.library, done.fndesc, done.env)
        state.targetctx.insert_user_function(cfunc, done.fndesc, [state.library])
        state.reload_init.extend(state.library._reload_init)
        state["cr"] = done._replace(cfunc=cfunc)
        return True


class LinkedCompiler(CompilerBase):
    """Numba's stages, with our lowering."""

    def define_pipelines(self) -> list[Any]:
        stages = DefaultPassBuilder.define_nopython_pipeline(self.state)
        stages.passes = [(_LinkedLowering if stage is NativeLowering else stage, why) for stage, why in stages.passes]
        stages.finalize()
        return [stages]


def restored(context: Any, payload: tuple[Any, ...]) -> Any:
    """A function from the cache, as `CompileResult._rebuild` does it for those that are emitted."""
    (name, kind, bitcode), description, environment, signature, _, _, annotation, reload, _ = payload
    for function in reload:
        function()
    assert kind == "bitcode"
    library = _LinkedLibrary.loaded(context.codegen(), name, bitcode)
    make_result: Any = CompileResult  # a named tuple with the fields `CR_FIELDS`
    return make_result(
        target_context=context, typing_context=context.typing_context, library=library, environment=environment,
        entry_point=_never_called(library, description, environment), fndesc=description,
        type_annotation=annotation, signature=signature, objectmode=False, lifted=(), typing_error=None,
        call_helper=None, metadata=None, reload_init=reload, referenced_envs=(),
    )  # fmt: skip
