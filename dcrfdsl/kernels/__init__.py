"""Numba kernels: arrays in, arrays out. Nothing here knows what a template, a corpus or a file is.

Compiled code is cached between processes. Numba checks a cached function against its own file only, not against the
files of the functions that it calls, so the cache lies in a directory named by a fingerprint of all kernel files: an
edit of any of them starts a fresh one.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from numba.core import config

__all__ = ["COMPILED_BEFORE", "kernel_cache"]


def _fingerprint(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def kernel_cache() -> Path:
    """The directory of compiled kernels: under `NUMBA_CACHE_DIR` if that is set, else beside the source files.

    Where those are read-only it lies in the user's cache.
    """
    folder = Path(__file__).parent
    given = os.environ.get("NUMBA_CACHE_DIR")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dcrfdsl"
    beside = folder / "__pycache__"
    writable = os.access(beside if beside.is_dir() else folder, os.W_OK)
    base = Path(given) if given else beside if writable else home
    return base / f"kernels-{_fingerprint(folder)}"


@contextmanager
def _cached_in(directory: Path) -> Iterator[None]:
    """Functions that are decorated inside keep their compiled code in `directory`; Numba's own setting is put back."""
    kept, config.CACHE_DIR = config.CACHE_DIR, str(directory)
    try:
        yield
    finally:
        config.CACHE_DIR = kept


_DIRECTORY = kernel_cache()
COMPILED_BEFORE = _DIRECTORY.is_dir()  # else the first use compiles for some seconds, which is worth saying
for _stale in _DIRECTORY.parent.glob("kernels-*"):
    if _stale != _DIRECTORY:
        shutil.rmtree(_stale, ignore_errors=True)

with _cached_in(_DIRECTORY):
    from . import (  # noqa: F401
        batches,
        beliefs,
        blocks,
        bundles,
        chain,
        contraction,
        dense,
        descent,
        gains,
        gibbs,
        mean_field,
        messages,
        nbest,
        packed,
        pairs,
        piece_scores,
        pieces,
        propagation,
        sampling,
        search,
        sequences,
        shuffle,
        summing,
        tables,
        trw,
        trw_beliefs,
        viterbi,
    )  # fmt: skip
