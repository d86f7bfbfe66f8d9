"""The memory that this process holds, what is left for it, and giving back what it does not use.

Not here: what work will take.
"""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path

_CONTAINER_FILES = (
    ("memory.max", "memory.current"),
    ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
)


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


def memory_left() -> int | None:
    """In bytes, that this process can still take: what the machine, its container and `ulimit -v` leave.

    None where the system does not say.
    """
    found = [left for left in (_available(), _of_container(), _of_address_space()) if left is not None]
    return max(0, min(found)) if found else None


def _available() -> int | None:
    """What Linux says it can give without swapping."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return None


def _of_container() -> int | None:
    """What a control group leaves, in either version of them."""
    for most, used in _CONTAINER_FILES:
        with suppress(OSError, ValueError):
            folder = Path("/sys/fs/cgroup")
            return int((folder / most).read_text()) - int((folder / used).read_text())
    return None


def _of_address_space() -> int | None:
    """What `ulimit -v` leaves."""
    with suppress(ImportError, OSError, ValueError, IndexError):
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            return most - pages * os.sysconf("SC_PAGE_SIZE")
    return None
