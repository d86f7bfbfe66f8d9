"""What the kernels' compiler and cache use of Numba's private parts is there, and as it was when they were written.

A version of Numba that fails here is not supported. The message says what it lacks; `docs/project/releasing.md` says
how a version is tried. Whether compiling and caching work is for `test_linked_functions` and `test_keeping`.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path

import numba
import pytest
from helpers import ROOT

INTERNALS = ROOT / "dcrfdsl/kernels/runtime/numba_internals.py"
PAGE = f"Numba {numba.__version__} cannot be used as it is: see docs/project/releasing.md, `A new version of Numba`"
# Methods that are called or overridden, with the parameters that they have.
METHODS = {
    "numba.core.codegen:JITCodeLibrary": {
        "_finalize_dynamic_globals": "self", "_finalize_final_module": "self", "_optimize_final_module": "self",
        "add_ir_module": "self, ir_module",
        "_optimize_functions": "self, ll_module", "_verify_declare_only_symbols": "self",
        "enable_object_caching": "self", "serialize_using_bitcode": "self",
    },
    "numba.core.codegen:CPUCodegen": {"_module_pass_manager": "self, kwargs", "magic_tuple": "self"},
    "numba.core.lowering:Lower": {
        "decref": "self, typ, val", "delvar": "self, name", "incref": "self, typ, val", "loadvar": "self, name",
        "lower_expr": "self, resty, expr", "lower_getitem": "self, resty, expr, value, index, signature",
        "lower_setitem": "self, target_var, index_var, value_var, signature", "typeof": "self, varname",
    },
    "numba.core.untyped_passes:IRProcessing": {"run_pass": "self, state"},
    "numba.core.caching:CompileResultCacheImpl": {
        "__init__": "self, py_func", "rebuild": "self, target_context, payload",
    },
    "numba.core.caching:FunctionCache": {
        "__init__": "self, py_func", "_load_overload": "self, sig, target_context",
        "load_overload": "self, sig, target_context", "save_overload": "self, sig, data",
    },
    "numba.core.caching:_CacheLocator": {
        "ensure_cache_path": "self", "from_function": "py_func, py_file", "get_cache_path": "self",
        "get_disambiguator": "self", "get_source_stamp": "self",
    },
    "numba.core.compiler:CompilerBase": {"define_pipelines": "self"},
    "numba.core.compiler:DefaultPassBuilder": {"define_nopython_pipeline": "state, name"},
    "numba.core.typed_passes:NativeLowering": {"run_pass": "self, state"},
    "numba.core.runtime._nrt_python:c_helpers": {},
    "numba.core.environment:Environment": {},
}  # fmt: skip
FUNCTIONS = {
    "numba.core.environment:_rebuild_env": "modname, consts, env_name",
    "numba.core.codegen:_parse_refprune_flags": "",
    "numba.core.codegen:get_host_cpu_features": "",
    "numba.core.typing.npydecl:parse_dtype": "dtype",
    "numba.core.compiler_machinery:register_pass": "mutates_CFG, analysis_only",
    "numba.core.serialize:dumps": "obj",
}
# Fields that are read or set by other means than a constructor: where their names stand in Numba's sources.
FIELDS = {
    "numba.core.codegen": [
        "self._codegen", "self._data_layout", "self._final_module", "self._finalized", "self._opt_level",
        "self._reload_init", "self._tm",
    ],
    "numba.core.caching": [
        "self._impl", "self._impl_class", "self._cache_file", "self._locator", "self._filename_base",
    ],
    "numba.core.compiler": ["self.state.reload_init", "self.state.library"],
    "numba.core.dispatcher": ["self._cache = ", "self._cache.load_overload", "self._cache.save_overload"],
    "numba.core.typed_passes": ["state.reload_init", "state['cr']", "state.library", "flags.no_compile"],
    "numba.core.lowering": ["self._blk_local_varmap", "self._singly_assigned_vars"],
    "numba.core.environment": ["_memo", "env_name", "consts"],
    "numba.core.options": ["nrt", "no_cfunc_wrapper", "no_cpython_wrapper", "forceinline"],
}  # fmt: skip
RESULT = (
    "typing_context", "target_context", "entry_point", "typing_error", "type_annotation", "signature", "objectmode",
    "lifted", "fndesc", "library", "call_helper", "environment", "metadata", "reload_init", "referenced_envs",
)  # fmt: skip
# What Numba documents, and modules may therefore take from it: names of `numba` itself, settings, extensions, events.
DOCUMENTED = {"numba", "numba.extending", "numba.core.event"}
DOCUMENTED_NAMES = {("numba.core", "config"), ("numba.core", "cgutils")}


def found(place: str) -> object:
    module, _, name = place.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError):
        pytest.fail(f"{module} has no {name}. {PAGE}")


def parameters(function: object) -> str:
    assert callable(function)
    return ", ".join(inspect.signature(function).parameters)


def taken(path: Path) -> list[tuple[str, str]]:
    """The names that a file takes from Numba, with their modules."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    plain = [(alias.name, "") for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names = [
        (node.module or "", alias.name) for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
    ]
    return [(module, name) for module, name in plain + names if module.partition(".")[0] == "numba"]


def test_every_internal_name_is_there() -> None:
    assert len(taken(INTERNALS)) > 10
    for module, name in taken(INTERNALS):
        found(f"{module}:{name}")


@pytest.mark.parametrize("owner", METHODS)
def test_methods_are_there_with_their_parameters(owner: str) -> None:
    for name, expected in METHODS[owner].items():
        method = getattr(found(owner), name, None)
        assert method is not None, f"{owner} has no {name}. {PAGE}"
        assert parameters(method) == expected, f"{owner}.{name} has other parameters. {PAGE}"


@pytest.mark.parametrize("place", FUNCTIONS)
def test_functions_have_their_parameters(place: str) -> None:
    assert parameters(found(place)) == FUNCTIONS[place], f"{place} has other parameters. {PAGE}"


@pytest.mark.parametrize("module", FIELDS)
def test_fields_are_there(module: str) -> None:
    source = inspect.getsource(importlib.import_module(module)).replace('"', "'")
    missing = [name for name in FIELDS[module] if not re.search(rf"(?<!\w){re.escape(name)}", source)]
    assert not missing, f"{module} no longer has {', '.join(missing)}. {PAGE}"


def test_a_compiled_result_has_the_fields_that_are_filled_in() -> None:
    assert getattr(found("numba.core.compiler:CompileResult"), "_fields") == RESULT, PAGE  # noqa: B009


def test_no_other_file_takes_internals() -> None:
    files = sorted((ROOT / "dcrfdsl").rglob("*.py"))
    others = [
        f"{path.relative_to(ROOT)}: {name} of {module}"
        for path in files
        if path != INTERNALS
        for module, name in taken(path)
        if module not in DOCUMENTED and (module, name) not in DOCUMENTED_NAMES
    ]
    assert not others, f"take these in {INTERNALS.name}: {others}"


def test_every_name_is_used() -> None:
    texts = [path.read_text(encoding="utf-8") for path in INTERNALS.parent.glob("*.py") if path != INTERNALS]
    idle = [name for _, name in taken(INTERNALS) if not any(re.search(rf"\b{name}\b", text) for text in texts)]
    assert not idle


def test_the_version_is_one_that_the_package_allows() -> None:
    (least, most) = re.search(r'"numba>=0\.(\d+),<0\.(\d+)"', ROOT.joinpath("pyproject.toml").read_text()).groups()  # type: ignore[union-attr]
    assert int(least) <= int(numba.__version__.split(".")[1]) < int(most)
