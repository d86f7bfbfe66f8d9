"""Files, locks and the command on a system without the calls of POSIX, as Windows is.

The calls are taken away in a process of its own, after NumPy and Numba are loaded. What Windows does in its own way is
imitated: an open file can be neither renamed nor removed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers import ROOT

from dcrfdsl.foundation import give_back_memory, paged

LIBRARIES = "import click, lark, networkx, numba, numpy, pydantic, rich.console, safetensors.numpy, scipy.optimize"
TAKEN_AWAY = """
import importlib, os, pkgutil, select, signal, sys, types

sys.modules["fcntl"] = sys.modules["resource"] = None  # importing them fails
for module, names in {
    os: ("fchmod", "getuid", "O_TMPFILE", "O_NOFOLLOW", "register_at_fork", "fork", "link"),
    signal: ("SIGHUP",), select: ("poll",),
}.items():
    for name in names:
        delattr(module, name)

locked = {}
def locking(descriptor, mode, size):
    where = os.fstat(descriptor).st_ino, os.lseek(descriptor, 0, os.SEEK_CUR)
    if locked.setdefault(where, descriptor) != descriptor:
        raise PermissionError(13, "Permission denied")
sys.modules["msvcrt"] = types.SimpleNamespace(LK_NBLCK=2, locking=locking)

def is_open(path):
    try:
        wanted = os.stat(path).st_ino
    except OSError:
        return False
    for descriptor in range(3, 64):
        try:
            if os.fstat(descriptor).st_ino == wanted:
                return True
        except OSError:
            pass
    return False

def refusing(call):
    def called(path, *more, **options):
        if is_open(path):
            raise PermissionError(13, "the file is open", os.fspath(path))
        return call(path, *more, **options)
    return called
os.replace, os.unlink = refusing(os.replace), refusing(os.unlink)
"""


def in_a_process(program: str, folder: Path, libraries: str = "") -> str:
    """The output of a program that begins without the calls, but with the libraries, which are as they are there."""
    done = subprocess.run(
        [sys.executable, "-c", libraries + TAKEN_AWAY + program],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_every_module_can_be_imported(tmp_path: Path) -> None:
    program = """
import dcrfdsl
for found in pkgutil.walk_packages(dcrfdsl.__path__, "dcrfdsl."):
    if not found.name.endswith("__main__"):
        try:
            importlib.import_module(found.name)
        except dcrfdsl.DcrfError as error:
            assert error.diagnostics[0].slug == "missing-package"
print("done")
"""
    assert in_a_process(program, tmp_path, LIBRARIES) == "done\n"


@pytest.mark.long
def test_a_model_is_trained_saved_replaced_and_used(tmp_path: Path) -> None:
    for name in ("address.dcrf", "address.txt"):
        (tmp_path / name).write_bytes((ROOT / "examples" / "address" / name).read_bytes())
    program = """
from dcrfdsl.cli import run
train = ["train", "address.dcrf", "address.txt", "-o", "address.model", "-q", "--curve", "curve.csv"]
assert run(train) == 0 and run(train) == 0
import dcrfdsl
model = dcrfdsl.load("address.model")
print(model.tag(["9", "Bath", "Lane"]), [name for name in os.listdir(".") if name.endswith(".tmp")])
print(run(["tag", "address.model", "address.txt", "-q"]))
"""
    first, *tagged, code = in_a_process(program, tmp_path, LIBRARIES).splitlines()
    assert first == "['B-STREET', 'I-STREET', 'I-STREET'] []"
    assert len(tagged) > 10 and code == "0"
    assert (tmp_path / "curve.csv").read_text().startswith("stage,start,iteration")


def test_leftovers_are_removed_unless_they_are_open(tmp_path: Path) -> None:
    left, written = (tmp_path / f".dcrfdsl-{digit * 16}.tmp" for digit in "ab")
    left.touch()
    written.touch()
    program = f"""
from dcrfdsl.foundation.files import write_whole
with open({written.name!r}, "ab"):
    write_whole("text", [b"one\\n"])
print(sorted(os.listdir(".")))
"""
    assert in_a_process(program, tmp_path) == f"['{written.name}', 'text']\n"
    assert (tmp_path / "text").read_bytes() == b"one\n"


def test_a_lock_is_seen_by_others(tmp_path: Path) -> None:
    program = """
from dcrfdsl.foundation import lock
with open("curve.csv", "a") as one, open("curve.csv", "a") as other:
    one.write("begun")
    lock(one.fileno())
    try:
        lock(other.fileno())
    except BlockingIOError:
        print("locked")
print(open("curve.csv").read())
"""
    assert in_a_process(program, tmp_path) == "locked\nbegun\n"


def test_numbers_in_a_file_are_the_same_after_their_pages_are_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.arange(1 << 21, dtype=np.int32)
    held = paged(numbers)
    assert held is not numbers or not hasattr(os, "posix_fallocate")
    for _ in range(2):
        give_back_memory()
        assert (held == numbers).all() and held.dtype == np.int32
    held[0] = 7  # it can be written, as any array
    give_back_memory()
    assert (held[0] == 7 and numbers[0] == 0) or held is numbers
    few = numbers[:100]
    assert paged(few) is few

    def full(*_: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    assert paged(numbers) is numbers
