"""What the operating system says and gives: memory, locks on open files, folders for caches.

Each works on every system that Python runs on, and says so where a system has none. A lock ends with the process that
holds it. Windows has none of the calls of POSIX: there a byte far behind any content is locked, so that the content can
still be read. Not here: what work will take; what a lock means to those who take it (`whole_files`,
`training.training_logs`); what is in a cache (`syntax.resources`, `kernels.runtime.kernel_cache`).
"""

from __future__ import annotations

import mmap
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

from .lazy_values import np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LARGE = 4 << 20  # bytes of an array
_MALLOC = ((-3, _LARGE), (-1, _LARGE // 32))  # of `mallopt`: M_MMAP_THRESHOLD, M_TRIM_THRESHOLD

_CONTAINER_FILES = (("memory.max", "memory.current"), ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"))


def memory_in_use() -> int:
    """The memory of this process in bytes; its peak where the system tells only that, 0 where it tells nothing."""
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    try:
        import resource
    except ImportError:  # Windows
        return 0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


_PAGED = WeakSet[mmap.mmap]()


def paged(numbers: NDArray[np.int32]) -> NDArray[np.int32]:
    """Numbers that are seldom read, in a temporary file, from which they take memory while they are read, until
    `give_back_memory`; as they are where they are few or the system has no room.
    """
    with suppress(OSError, AttributeError), tempfile.TemporaryFile() as stream:
        if numbers.nbytes >= _LARGE:
            os.posix_fallocate(stream.fileno(), 0, numbers.nbytes)  # a full disk would end the process later
            pages = mmap.mmap(stream.fileno(), numbers.nbytes)
            pages.write(numbers.data)
            _PAGED.add(pages)
            return np.frombuffer(pages, np.int32)
    return numbers


def give_back_memory() -> None:
    """Returns memory that was freed to the system, where its C library keeps it for later (glibc): what is there, and
    large arrays from now on; and pages of `paged`.
    """
    import ctypes  # here only: commands that train nothing start without it

    with suppress(OSError, AttributeError, TypeError):  # another library
        library = ctypes.CDLL(None)
        for option, value in _MALLOC:
            library.mallopt(option, value)
        library.malloc_trim(0)
    for pages in list(_PAGED):
        pages.madvise(mmap.MADV_DONTNEED)


def memory_left() -> int | None:
    """How many bytes this process can still take: what the machine, its container and `ulimit -v` leave.

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


# locks ----------------------------------------------------------------------------------------------------------------


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
    if HAS_POSIX_FILES:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        return
    import msvcrt

    before = os.lseek(descriptor, 0, os.SEEK_CUR)
    try:
        os.lseek(descriptor, FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except PermissionError as error:
        raise BlockingIOError(*error.args) from error
    finally:
        os.lseek(descriptor, before, os.SEEK_SET)


# places for caches ----------------------------------------------------------------------------------------------------


def keeping_places() -> Iterator[Path]:
    """Folders of this user alone for what is kept between processes, the best first: the user's cache, a temporary one.

    Each is made when it is asked for, for this user alone. Their files are executed: a folder that other users may
    write to, or that belongs to one, is left out. What is read-only is not.
    """
    if (home := _cache_home()) is not None and _is_own(home / "dcrfdsl", shared=False):
        yield home / "dcrfdsl"
    user = f"-{os.getuid()}" if hasattr(os, "getuid") else ""  # on Windows the folder is the user's own
    temporary = Path(tempfile.gettempdir()) / f"dcrfdsl{user}"
    if _is_own(temporary, shared=True):
        yield temporary


def _cache_home() -> Path | None:
    """Where the system keeps caches of this user; None for a user without a home."""
    if os.path.isabs(given := os.environ.get("XDG_CACHE_HOME", "")):
        return Path(given)
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return Path(local) if local else None
    home = os.path.expanduser("~") if os.environ.get("HOME", "~") else ""  # stays "~" for a user without a home
    if not os.path.isdir(home):
        return None
    return Path(home, "Library", "Caches") if sys.platform == "darwin" else Path(home, ".cache")


def is_writable(folder: Path) -> bool:
    """Whether files can be created in a folder; a missing folder is created."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


def _is_own(folder: Path, *, shared: bool) -> bool:
    """Whether a folder is there, made now if need be, and nobody but this user and the system's can write to it.

    shared: whether others may make files beside it. Then it must not be a link, which anybody could have laid, nor may
    a group write to it. In a home groups are the user's own affair; often the user is the only member.
    """
    try:
        if not shared:
            folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat() if shared else folder.stat()
    except OSError:
        return False
    if not hasattr(os, "getuid"):
        return True
    others = stat.S_IWOTH | (stat.S_IWGRP if shared else 0)
    return stat.S_ISDIR(status.st_mode) and status.st_uid in (0, os.getuid()) and not status.st_mode & others
