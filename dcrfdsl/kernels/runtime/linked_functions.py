"""The stages that compile kernels, and those for functions that only kernels call: into code for their callers alone.

Numba makes three things of each function: code that other functions link and inline, machine code of its own, and a
wrapper by which Python calls it. A function that Python never calls needs the first alone. Its callers contain it, and
are optimized as a whole; so it is not optimized by itself either, beyond what makes it small.

This uses Numba's way to change its stages (`pipeline_class`). Not here: short code for frequent operations
(`lowering`, `allocation`), the decorators (`compilation`), the cache (`kernel_cache`).
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from llvmlite.binding import create_pass_builder, create_pipeline_tuning_options, parse_bitcode
from numba.core import config

from .allocation import empty, full, zeros
from .lowering import LeanLower
from .numba_internals import (
    CompilerBase,
    CompileResult,
    DefaultPassBuilder,
    IRProcessing,
    JITCodeLibrary,
    NativeLowering,
    _parse_refprune_flags,
    ir,
    make_function,
    register_pass,
)

# What Python meets when it calls such a function by mistake: a SystemError, and not a jump to nowhere.
_REFUSAL = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(lambda *_: None)
_REFUSAL_ADDRESS = ctypes.cast(_REFUSAL, ctypes.c_void_p).value


ALLOCATE = {"empty": empty, "zeros": zeros, "full": full}
WRAPPER = "_ZN7cpython"  # how the names of wrappers begin


class _KernelLibrary(JITCodeLibrary):
    """Code of a function, optimized once where Numba optimizes three times.

    Each function is made small by itself. All that a kernel calls is then optimized together; the wrapper by which
    Python calls it is not, since it takes little time.
    """

    def add_ir_module(self, module: Any) -> None:
        for function in module.functions:
            if function.name.startswith(WRAPPER) and not function.is_declaration:
                function.attributes.add("optnone")
                function.attributes.add("noinline")  # LLVM wants both
        super().add_ir_module(module)

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout
        for function in module.functions:
            if not function.is_declaration and not function.name.startswith(WRAPPER):
                builder = self._pass_builder(1, is_vectorized=False)
                self._run(builder.getFunctionPassManager(), function, builder)

    def _optimize_final_module(self) -> None:
        builder = self._pass_builder(config.OPT, config.LOOP_VECTORIZE)
        self._run(builder.getModulePassManager(), self._final_module, builder)

    def _pass_builder(self, level: int, is_vectorized: bool) -> Any:
        """Without unrolled loops: of most, few passes run, and vectors are unrolled all the same."""
        options = create_pipeline_tuning_options(level)
        options.loop_vectorization, options.slp_vectorization, options.loop_unrolling = is_vectorized, False, False
        return create_pass_builder(self._codegen._tm, options)

    def _run(self, manager: Any, code: Any, builder: Any) -> None:
        if config.LLVM_REFPRUNE_PASS:
            manager.add_refprune_pass(_parse_refprune_flags())
        manager.run(code, builder)


class _LinkedLibrary(_KernelLibrary):
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
class _Processing(IRProcessing):
    """Puts our functions that allocate arrays in place of NumPy's."""

    _name = "kernel_processing"

    def run_pass(self, state: Any) -> bool:
        super().run_pass(state)
        known = state.func_ir._definitions
        for block in state.func_ir.blocks.values():
            for statement in block.find_insts(ir.Assign):
                value = statement.value
                if isinstance(value, ir.Expr) and value.op == "getattr" and value.attr in ALLOCATE:
                    (module,) = known[value.value.name]
                    if getattr(module, "value", None) is np:
                        statement.value = ir.Global(value.attr, ALLOCATE[value.attr], value.loc)
                        known[statement.target.name] = [statement.value]
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class _KernelLowering(NativeLowering):
    """Lowers a function that Python calls."""

    _name = "kernel_lowering"

    @property
    def lowering_class(self) -> Any:
        return LeanLower

    def run_pass(self, state: Any) -> bool:
        if state.library is None:
            state.library = _KernelLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
        return bool(super().run_pass(state))


@register_pass(mutates_CFG=True, analysis_only=False)
class _LinkedLowering(_KernelLowering):
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


# What kernels do not have: closures, context managers, exceptions with values, literal loops, array expressions; and
# what is only for people to read.
SKIPPED = {
    "with_lifting", "inline_closure_likes", "Rewrite dynamic raises", "make_function_op_code_to_jit_function",
    "inline_inlinables", "find_literally", "literal_unroll", "LiteralPropagation", "inline_overloads",
    "nopython_rewrites", "nopython_supported_feature_validation", "annotate_types", "dump_parfor_diagnostics",
}  # fmt: skip


class KernelCompiler(CompilerBase):
    """Numba's stages, without what kernels do not need, and with our lowering."""

    lowering: type[Any] = _KernelLowering

    def define_pipelines(self) -> list[Any]:
        stages = DefaultPassBuilder.define_nopython_pipeline(self.state)
        ours = {IRProcessing: _Processing, NativeLowering: self.lowering}
        stages.passes = [(ours.get(s, s), why) for s, why in stages.passes if s.name() not in SKIPPED]
        stages.finalize()
        return [stages]


class LinkedCompiler(KernelCompiler):
    """Of functions for the linker only."""

    lowering = _LinkedLowering


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
