"""The memory that this process holds, and giving back what it does not use. Not here: what work will take."""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["give_back_memory", "memory_in_use"]


def memory_in_use() -> int:
    """In bytes: now; at its peak where a system says no more; 0 where it says nothing."""
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    try:
        import resource
    except ImportError:  # Windows
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def give_back_memory() -> None:
    """Returns memory that was freed to the system, where its C library keeps it for later (glibc)."""
    with suppress(OSError, AttributeError, TypeError):  # another library
        ctypes.CDLL(None).malloc_trim(0)
