"""Places for caches between processes: of the parser and of compiled kernels. It is not an error if there is none.

Not here: the cached data and the names of its files (`syntax.resources`, `kernels.runtime.kernel_cache`).
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path


def keeping_places(package: Path) -> Iterator[Path]:
    """Folders to try, the best first: beside the modules of a package, the user's cache, a temporary folder.

    They need not exist or be writable, except the last one, which is created on request.
    """
    yield package / "__pycache__"
    home = os.path.expanduser("~") if os.environ.get("HOME", "~") else ""  # stays "~" for a user without a home
    if cache_home := os.environ.get("XDG_CACHE_HOME"):
        yield Path(cache_home) / "dcrfdsl"
    elif os.path.isdir(home):
        yield Path(home) / ".cache" / "dcrfdsl"
    temporary = _temporary_place()
    if temporary is not None:
        yield temporary


def is_writable(folder: Path) -> bool:
    """Whether files can be created in a folder; a missing folder is created."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


def _temporary_place() -> Path | None:
    """A folder that only this user can write to, because its files are executed; None if there is none."""
    if not hasattr(os, "getuid"):  # on Windows a user has a temporary folder of their own
        return Path(tempfile.gettempdir()) / "dcrfdsl"
    try:
        folder = Path(tempfile.gettempdir()) / f"dcrfdsl-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        status = folder.lstat()
    except OSError:
        return None
    is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid() and not status.st_mode & 0o022
    return folder if is_own else None
