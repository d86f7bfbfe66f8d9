"""Kernel packs: folders of compiled kernels that ship with a program, and the CPU that kernels are compiled for.

`DCRFDSL_KERNELS=DIR` makes a process look for kernels in a pack first; it is never written to. A manifest says what the
pack was made with. One of another version or system is not used, nor one for a CPU that has more than this one. A CPU
that has more than the pack needs is taken for the CPU of the pack, so that its kernels are found: Numba's settings of
the CPU are changed, which must come before Numba compiles anything.

A pack is a program: to load a kernel is to run what is in its file. Not here: the files (`kernel_cache`).
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import llvmlite
import numba
import numpy as np
from llvmlite import binding
from numba.core import config

from ...foundation import data_error
from .kernel_cache import AT_START, PACKS, TAKEN, cache_directories
from .numba_internals import cpu_target, get_host_cpu_features

MANIFEST = "dcrfdsl-kernels.json"
VARIABLE = "DCRFDSL_KERNELS"
SEVEN = 7  # features that a message names


def target_cpu() -> tuple[str, str]:
    """Name and features of the CPU that Numba compiles for."""
    features = get_host_cpu_features() if config.CPU_FEATURES is None else config.CPU_FEATURES
    return config.CPU_NAME or binding.get_host_cpu_name(), features


def _present(features: str) -> set[str]:
    return {one[1:] for one in features.split(",") if one.startswith("+")}


def _made_with() -> dict[str, str]:
    """What compiled kernels depend on, by name."""
    cpu, features = target_cpu()
    return {
        "Python": sys.implementation.cache_tag or "", "numba": numba.__version__, "llvmlite": llvmlite.__version__,
        "numpy": np.__version__, "platform": binding.get_default_triple(), "kernels": AT_START, "cpu": cpu,
        "features": features,
    }  # fmt: skip


def adopt_pack() -> None:
    """Takes the pack that the environment names, if it fits; else says once why it does not."""
    if not (given := os.environ.get(VARIABLE)) or config.DISABLE_JIT:
        return
    folder = Path(given).absolute()
    differences, remedy = list(_differences(folder)), "`dcrfdsl compile … --to DIR` makes a pack here"
    if not differences:
        PACKS.append(folder)
        return
    if differences[0].startswith("its CPU"):
        remedy = "`dcrfdsl compile … --to DIR --cpu x86-64-v3`, say, makes one for all CPUs of that level"
    words = f"the kernel pack `{given}` ({VARIABLE}) is not used, and kernels are compiled: {'; '.join(differences)}"
    warnings.warn(f"{words}; {remedy}", stacklevel=2)  # no DcrfWarning: those are of models


def _manifest(folder: Path) -> Mapping[str, str] | None:
    """What a pack was made with; None if the folder holds none."""
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    names = _made_with()
    return found if isinstance(found, dict) and all(isinstance(found.get(one), str) for one in names) else None


def _differences(folder: Path) -> Iterator[str]:
    """Why a pack does not fit, in words. If only its CPU differs, and is less than this one, that is taken over."""
    manifest, own = _manifest(folder), _made_with()
    if manifest is None:
        yield f"it has no `{MANIFEST}`" if folder.is_dir() else "there is no such folder"
        return
    names = [name for name in own if name not in ("kernels", "cpu", "features") and manifest[name] != own[name]]
    yield from (f"it was made with {name} {manifest[name]}, here is {own[name]}" for name in names)
    if not names and manifest["kernels"] != own["kernels"]:
        yield "it was made by another version of dcrfdsl, or with other settings of Numba (`NUMBA_…`)"
    if lacks := sorted(_present(manifest["features"]) - _present(get_host_cpu_features())):
        more = f" and {len(lacks) - SEVEN} more" if len(lacks) > SEVEN else ""
        yield f"its CPU, {manifest['cpu']}, has {', '.join(lacks[:SEVEN])}{more}, which this one lacks"
    wanted = manifest["cpu"], manifest["features"]
    if lacks or manifest["kernels"] != own["kernels"] or wanted == target_cpu():
        return
    if config.CPU_NAME or config.CPU_FEATURES is not None:
        yield f"it was made for {wanted[0]}, and `NUMBA_CPU_NAME` or `NUMBA_CPU_FEATURES` say otherwise"
        return
    config.CPU_NAME, config.CPU_FEATURES = wanted
    if cpu_target.target_context.codegen().magic_tuple()[1:] != wanted:
        config.CPU_NAME = config.CPU_FEATURES = None
        yield f"it was made for {wanted[0]}, and Numba has compiled for this CPU before `dcrfdsl` was imported"


class KernelList(NamedTuple):
    """The kernels of this process.   files: that hold them, where they are kept.   compiled: how many are new."""

    files: list[Path]
    compiled: int


def kernel_list() -> KernelList:
    """The kernels that this process has loaded and compiled."""
    places = cache_directories().read
    found = (next((place / name for place in places if (place / name).exists()), None) for name in TAKEN)
    return KernelList([path for path in found if path is not None], sum(TAKEN.values()))


# making one ----------------------------------------------------------------------------------------------------------


def require_pack_folder(folder: Path) -> None:
    """Raises DcrfError unless a folder can be made a pack: it is new, empty, or a pack that was made alike."""
    found, own = _manifest(folder), _made_with()
    if folder.exists() and any(folder.iterdir()) and (found is None or own.items() - found.items()):
        what = "is no kernel pack, and has files" if found is None else "holds a kernel pack of another version or CPU"
        raise data_error("file-exists", f"`{folder}` {what}", help="name another folder after `--to`")


def write_pack(folder: Path, version: str) -> KernelList:
    """Puts the kernels of this process into a pack, beside those that it has.   version: of the package."""
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"dcrfdsl": version, **_made_with()}, indent=2)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")
    kernels = kernel_list()
    return kernels._replace(files=[Path(shutil.copyfile(path, folder / path.name)) for path in kernels.files])
