"""Locks on open files that end with the process that holds them, on every system that Python runs on.

Windows has none of the calls of POSIX. There a byte far behind any content is locked, so that the content can still be
read. Not here: what a lock means to those who take it (`whole_files`, `training.curves`).
"""

from __future__ import annotations

import os
from collections.abc import Callable

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

HAS_POSIX_FILES = fcntl is not None  # whether an open file can be renamed and removed, too
FAR = 2**40  # bytes: behind the content of any file that is locked


def lock(descriptor: int, *, wait: bool = False) -> None:
    """Locks an open file. OSError where there are no locks.

    wait: until another process gives up its lock, where a system can; otherwise that is a BlockingIOError.
    """
    _LOCKS[HAS_POSIX_FILES](descriptor, wait)


def _flock(descriptor: int, wait: bool) -> None:
    fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def _lock_byte(descriptor: int, wait: bool) -> None:
    import msvcrt

    before = os.lseek(descriptor, 0, os.SEEK_CUR)
    try:
        os.lseek(descriptor, FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except PermissionError as error:
        raise BlockingIOError(*error.args) from error
    finally:
        os.lseek(descriptor, before, os.SEEK_SET)


_LOCKS: dict[bool, Callable[[int, bool], None]] = {True: _flock, False: _lock_byte}
