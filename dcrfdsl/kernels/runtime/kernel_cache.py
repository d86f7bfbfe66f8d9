"""Caches compiled functions between processes.

Compiled code contains the code of all functions that it calls, but Numba checks only a function's own file. Here the
fingerprint of the cache covers every kernel file, the versions of the compilers and the settings that affect compiled
code. When any of them changes, everything is compiled anew, into a separate directory. What depends on the processor is
part of each function's key. A file holds one function for one signature and is written atomically, so processes may
compile at the same time (with Numba's own index, two signatures would then get mixed up).

Nothing here ends a run. If a directory is not writable, the next one is used; a damaged file counts as missing; if the
disk is full, nothing is cached. A process marks the directory that it uses. Directories of other versions are removed
after 30 days without use; a process that returns to one compiles again.

Not here: how functions are compiled (`compilation`); folders of kernels that are shipped (`kernel_packs`).
"""

from __future__ import annotations

import hashlib
import io
import itertools
import os
import pickle
import re
import secrets
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import numba
import numpy as np
from llvmlite.binding import add_symbol
from numba.core import config

from ...foundation import is_writable, keeping_places
from .linked_functions import restored
from .numba_internals import (
    CompileResultCacheImpl,
    Environment,
    FunctionCache,
    _CacheLocator,
    _rebuild_env,
    c_helpers,
    dumps,
)

KERNELS = Path(__file__).parents[1]
NAME = re.compile(r"dcrfdsl-kernels-[0-9a-f]{16}(-old-[0-9a-f]{8})?")
STAMP = "used"  # its time is when a process last used the directory
DAY = 24 * 3600.0
UNUSED = 30 * DAY
CHECKSUM = 32  # bytes
SETTINGS = (
    "BOUNDSCHECK", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DISABLE_INTEL_SVML", "DEBUGINFO_DEFAULT", "DEBUG_NRT",
    "NRT_STATS", "EXTEND_VARIABLE_LIFETIMES", "LLVM_REFPRUNE_PASS", "LLVM_REFPRUNE_FLAGS", "USE_RVSDG_FRONTEND",
    "USING_SVML",
)  # fmt: skip


def fingerprint(folder: Path = KERNELS) -> str:
    """A hash of everything but the processor that affects the compiled kernels; empty if the sources are missing."""
    digest = hashlib.sha256()
    try:
        sources = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.py")}
    except OSError:
        return ""
    for name in sorted(sources):
        digest.update(f"{name}\0{len(sources[name])}\0".encode() + sources[name])
    versions = (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__, np.__version__)
    digest.update(repr((versions, [repr(getattr(config, name, None)) for name in SETTINGS])).encode())
    return digest.hexdigest()[:16] if sources else ""


AT_START = fingerprint()


def _stamp(source: str, kernels: str) -> str:
    """A function's stamp: the kernels' fingerprint; outside the kernels also a hash of its own file.

    Such a function may call kernels and its own file only.
    """
    if source.startswith(f"{KERNELS}{os.sep}"):
        return kernels
    with suppress(OSError):
        return f"{kernels} {hashlib.sha256(Path(source).read_bytes()).hexdigest()}"
    return ""


class CacheDirectories(NamedTuple):
    """Directories of compiled kernels."""

    read: tuple[Path, ...]  # searched in this order
    write: Path | None  #     None: nothing is cached


PACKS: list[Path] = []  # folders of shipped kernels (`kernel_packs`), which are searched first and never written to
TAKEN: dict[str, bool] = {}  # the files of the kernels that this process has, and whether it compiled them


@cache
def cache_directories() -> CacheDirectories:
    """The directories of this version.

    Candidates are `NUMBA_CACHE_DIR` if it is set, the user's cache and a folder for temporary files. The first writable
    one is written to; those before it are only read, if they exist.
    """
    configured = [Path(config.CACHE_DIR)] if config.CACHE_DIR else []
    read = list(PACKS)
    for place in itertools.chain(configured, keeping_places()) if AT_START else ():
        folder = place / f"dcrfdsl-kernels-{AT_START}"
        if _mark_used(folder):
            return CacheDirectories((*read, folder), folder)
        if os.path.isdir(folder):
            read.append(folder)
    return CacheDirectories(tuple(read), None)


def _mark_used(folder: Path) -> bool:
    """Whether a directory is writable; creates it if needed. Once a day, removes unused ones of other versions."""
    stamp = folder / STAMP
    try:
        is_due = time.time() - _last_use(folder) > DAY
        if not is_writable(folder):
            return False
        stamp.touch()
    except OSError:
        return False
    if is_due:
        _clear_unused(folder)
    return True


def _last_use(folder: Path) -> float:
    """When a directory was last used, in seconds since the epoch; 0 if it does not exist."""
    for path in (folder / STAMP, folder):
        with suppress(OSError):
            return path.stat().st_mtime
    return 0.0


def _clear_unused(folder: Path) -> None:
    """Removes unused directories of other versions beside `folder`, and the leftovers of killed processes in it.

    A directory is renamed first, so that a process that returns to it at this moment writes to a new one.
    """
    now = time.time()
    with suppress(OSError):
        for other in list(folder.parent.iterdir()):
            if other == folder or not NAME.fullmatch(other.name) or now - _last_use(other) < UNUSED:
                continue
            if other.is_symlink() or not other.is_dir():
                continue
            gone = other
            if "-old-" not in other.name:
                gone = other.with_name(f"{other.name}-old-{secrets.token_hex(4)}")
                other.rename(gone)
            shutil.rmtree(gone, ignore_errors=True)
        for path in folder.glob("*.tmp"):
            if now - path.stat().st_mtime > DAY:
                path.unlink()


class KernelCache(FunctionCache):
    """Numba's cache of one function, in our directories."""

    def __init__(self, function: Callable[..., Any], is_linked: bool = False):
        self._impl_class = _Linked if is_linked else _Named
        super().__init__(function)
        self._cache_file: Any = _Files(self._impl.filename_base, function.__code__.co_filename, is_linked)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled version for the types `sig`, or None.

        Numba's own function loads the implementations of everything that can be compiled first, and for those SciPy's
        linear algebra: half a second; and it compiles the runtime, which takes 30 MB. Machine code needs only the
        symbols that it calls, which are those of the runtime; whatever is compiled later loads the rest by itself.
        """
        try:
            _name_runtime()
            return self._load_overload(sig, target_context)
        except Exception:  # whatever is wrong with the file, the function is compiled and the file written anew
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):
            super().save_overload(sig, data)


@cache
def _name_runtime() -> None:
    """Tells the linker where the functions of Numba's runtime are, as `rtsys.initialize` does."""
    for name, address in c_helpers.items():
        add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


class _Files:
    """The compiled versions of one function, a file each: a checksum, then the pickled stamp, key and code."""

    def __init__(self, name: str, source: str, is_linked: bool = False):
        self._name, self._source, self._is_linked = name, source, is_linked
        self._at_start = _stamp(source, AT_START)

    def _file(self, key: Any) -> str:
        return f"{self._name}.{hashlib.sha256(str(key).encode()).hexdigest()[:16]}.nbc"

    def load(self, key: Any) -> Any:
        for folder in cache_directories().read:
            with suppress(OSError):
                content = (folder / self._file(key)).read_bytes()
                checksum, body = content[:CHECKSUM], content[CHECKSUM:]
                if hashlib.sha256(body).digest() != checksum:
                    continue
                stamp, stored_key, code = _Unpickler(io.BytesIO(body)).load()
                if stamp == self._at_start and stored_key == key:
                    self._note(key, compiled=False)
                    return code
        return None

    def _note(self, key: Any, *, compiled: bool) -> None:
        """Puts a file among those of this process; code that is only linked into kernels is not needed beside them."""
        if not self._is_linked:
            TAKEN[self._file(key)] = compiled

    def save(self, key: Any, code: Any) -> None:
        """Writes nothing if a source was edited since the start: it is then unknown which version was compiled."""
        self._note(key, compiled=True)
        folder = cache_directories().write
        if folder is None or _stamp(self._source, fingerprint()) != self._at_start or not _mark_used(folder):
            return
        body = dumps((self._at_start, key, code))
        target = folder / self._file(key)
        temporary = target.with_name(f"{target.name}.{secrets.token_hex(8)}.tmp")
        try:
            temporary.write_bytes(hashlib.sha256(body).digest() + body)
            temporary.replace(target)
        except BaseException:  # Ctrl-C included
            with suppress(OSError):
                temporary.unlink()
            raise

    def flush(self) -> None:
        for folder in set(cache_directories().read).difference(PACKS):
            for path in folder.glob(f"{self._name}.*.nbc"):
                with suppress(OSError):
                    path.unlink()


class _Unpickler(pickle.Unpickler):
    """Reads compiled code without the modules of Numba whose functions are part of it.

    Each such function has an environment, of which machine code reads the constants alone. Numba would import the
    module for the globals, which only compiling needs, and with the reductions of arrays SciPy's linear algebra.
    """

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        return _environment if found is _rebuild_env else found


def _environment(module: str, constants: list[Any], name: str) -> Environment:
    """The environment of a compiled function: its constants, and the globals of a module if that is imported."""
    found: Environment | None = Environment._memo.get(name)
    if found is None and (module in sys.modules or not module.startswith("numba.")):
        found = _rebuild_env(module, constants, name)
    if found is None:
        found = Environment._memo[name] = Environment({"__name__": module})
        found.consts[:], found.env_name = constants, name
    return found


class _Locator(_CacheLocator):
    """Answers Numba's questions about a function and the location of its files."""

    def __init__(self, function: Callable[..., Any], file: str):
        self._py_file, self._line = file, function.__code__.co_firstlineno

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator:
        return cls(py_func, py_file)

    def ensure_cache_path(self) -> None:
        pass  # `_Files.save` creates it

    def get_cache_path(self) -> str:
        directories = cache_directories()
        return str(directories.write or next(iter(directories.read), ""))

    def get_source_stamp(self) -> str:
        return _stamp(self._py_file, AT_START)

    def get_disambiguator(self) -> str:
        return str(self._line)


class _Named(CompileResultCacheImpl):
    """Names a function's files after its module, since all files lie in one directory."""

    _locator_classes = [_Locator]

    def __init__(self, py_func: Callable[..., Any]):
        super().__init__(py_func)
        # even if a setting of Numba names other locators
        self._locator = _Locator(py_func, py_func.__code__.co_filename)
        self._filename_base = f"{py_func.__module__}.{py_func.__qualname__}-{self._locator.get_disambiguator()}"


class _Linked(_Named):
    """Of a function that is only linked into its callers."""

    def rebuild(self, target_context: Any, payload: Any) -> Any:
        return restored(target_context, payload)
