"""Where something may be kept from one process to the next: the parser, compiled kernels. No place is an error.

Not here: what is kept, and how its files are named (`syntax.resources`, `kernels.runtime.kernel_cache`).
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["is_writable", "keeping_places"]


def keeping_places(package: Path) -> Iterator[Path]:
    """Folders to try, the best first: beside the modules of a package, the user's cache, one for temporary files.

    None of them need exist or be writable, but for the last one, which is made when it is asked for.
    """
    yield package / "__pycache__"
    home = os.path.expanduser("~") if os.environ.get("HOME", "~") else ""  # stays "~" for a user without a home
    if given := os.environ.get("XDG_CACHE_HOME"):
        yield Path(given) / "dcrfdsl"
    elif os.path.isdir(home):
        yield Path(home) / ".cache" / "dcrfdsl"
    temporary = _temporary_place()
    if temporary is not None:
        yield temporary


def is_writable(folder: Path) -> bool:
    """Whether files can be made in a folder; it is made itself where it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


def _temporary_place() -> Path | None:
    """A folder that only this user can write to: what is read from it is executed."""
    try:
        folder = Path(tempfile.gettempdir()) / f"dcrfdsl-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022
    return folder if is_own else None
