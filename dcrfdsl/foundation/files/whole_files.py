"""Files that are written whole or not at all, templates read as text, and errors of the operating system turned into
messages.

Not here: the contents of files (`model.file_format`, `syntax`, `cli`).
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from ..errors import DcrfError, data_error, did_you_mean
from ..operating_system import HAS_POSIX_FILES, lock

LONGEST_TEMPLATE = 1 << 24  # bytes
MOST_NAMES = 10_000  # of a folder, among which a misspelt one is sought

Bytes = bytes | memoryview
BINARY: int = getattr(os, "O_BINARY", 0)  # Windows would write a newline as two bytes


def write_whole(path: str | Path, parts: Iterable[Bytes]) -> None:
    """Writes the bytes of `parts` to `path`; an existing file is replaced only after all bytes are on disk.

    Raises `DcrfError` if that fails (full disk, read-only target …); the old file is then unchanged, and no temporary
    file is left. A link stays a link. A device or a pipe is written to, never replaced.
    """
    ensure_writable(path)
    target = Path(os.path.realpath(path))
    with clear_os_errors(path, WRITING):
        if target.is_file() or not target.exists():
            _write_and_rename(target, parts)
            return
        descriptor = os.open(target, os.O_WRONLY | BINARY)
        try:
            _write_all(descriptor, parts)
        finally:
            os.close(descriptor)


def ensure_writable(path: str | Path) -> None:
    """`DcrfError` if `path` cannot be written; checked before hours of training, not after.

    A file or directory without any write permission bit counts as read-only even for a user who could override it.
    """
    target = Path(os.path.realpath(path))
    with clear_os_errors(path, WRITING):
        if not target.parent.is_dir():
            raise _error(path, "no-such-directory", f"there is no directory `{Path(path).parent}` to write to")
        if target.is_dir():
            raise _error(path, "target-is-directory", f"`{path}` is a directory", "give the name of a file in it")
        for place in (target, target.parent) if target.exists() else (target.parent,):
            if not os.access(place, os.W_OK) or not stat.S_IMODE(place.stat().st_mode) & 0o222:
                raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def _write_and_rename(target: Path, parts: Iterable[Bytes]) -> None:
    """Writes a file without a name where the file system allows it, so that a process that ends early leaves nothing
    behind. Elsewhere the file has a temporary name, and the next writer in the directory removes leftovers.
    """
    _remove_leftovers(target.parent)
    unnamed = _open_unnamed(target.parent)
    descriptor, temporary = (unnamed, None) if unnamed is not None else _open_temporary(target.parent)
    try:
        if target.exists() and hasattr(os, "fchmod"):
            os.fchmod(descriptor, stat.S_IMODE(target.stat().st_mode))
        _write_all(descriptor, parts)
        os.fsync(descriptor)
        if temporary is None:
            temporary = _named(descriptor, target.parent)
        if not HAS_POSIX_FILES:  # an open file has no other name there
            os.close(descriptor)
            descriptor = -1
        os.replace(temporary, target)
    except BaseException:  # including Ctrl-C: no partial file remains
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink()
        raise
    finally:
        if descriptor >= 0:
            os.close(descriptor)
    _sync_directory(target.parent)


# Errors of an open with O_TMPFILE on file systems without unnamed files.
_NO_UNNAMED = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT, errno.ENOSYS)
_PREFIX, _SUFFIX = ".dcrfdsl-", ".tmp"


def _open_unnamed(directory: Path) -> int | None:
    """A file without a name, locked; None if the system has none, or cannot name it later."""
    flag = getattr(os, "O_TMPFILE", 0)
    if not flag or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        descriptor = os.open(directory, os.O_WRONLY | flag, 0o666)
    except OSError as error:
        if error.errno in _NO_UNNAMED:
            return None
        raise
    with suppress(OSError):
        lock(descriptor, wait=True)
    return descriptor


def _named(descriptor: int, directory: Path) -> Path:
    """Gives a temporary name to a file without one, because a link cannot replace an existing file."""
    temporary = _temporary_name(directory)
    root = os.open("/", os.O_RDONLY)
    try:  # given a directory, Python follows the link, which `link(2)` would not
        os.link(f"/proc/self/fd/{descriptor}", temporary, src_dir_fd=root, follow_symlinks=True)
    finally:
        os.close(root)
    return temporary


def _open_temporary(directory: Path) -> tuple[int, Path]:
    """A file with a temporary name, locked while this process lives."""
    while True:
        temporary = _temporary_name(directory)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, 0o666)
        with suppress(OSError):  # a file system without locks
            lock(descriptor, wait=True)
        if _is_at(descriptor, temporary):  # no other process removed it as a leftover in between
            return descriptor, temporary
        os.close(descriptor)


def _temporary_name(directory: Path) -> Path:
    import secrets  # loads three modules of checksums, for commands that write

    return directory / f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}"  # the same directory: a rename needs it


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _remove_leftovers(directory: Path) -> None:
    """Removes temporary files without a lock: their writers ended early."""
    for path in directory.glob(f"{_PREFIX}{'[0-9a-f]' * 16}{_SUFFIX}"):
        with suppress(OSError):
            if not HAS_POSIX_FILES:
                path.unlink()  # fails while its writer has it open
                continue
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                lock(descriptor)
                if _is_at(descriptor, path):
                    path.unlink()
            finally:
                os.close(descriptor)


def _write_all(descriptor: int, parts: Iterable[Bytes]) -> None:
    for part in parts:
        rest = memoryview(part)
        while rest:
            rest = rest[os.write(descriptor, rest) :]


def _sync_directory(directory: Path) -> None:
    """Makes the rename durable. The file is already complete, so a file system that refuses this is not an error."""
    with suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def read_at_most(path: str | Path, most: int) -> bytes:
    """The first `most` bytes of a file, which may be endless. OSError or ValueError if it cannot be read."""
    with open(path, "rb") as stream:
        return stream.read(most)


def is_pipe(path: str | Path) -> bool:
    """Whether a path names a pipe: who reads it waits until somebody writes."""
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def near_name(path: str | Path) -> str | None:
    """The remedy for a file that is not there: the folder is not either, or has one of nearly this name."""
    folder, name = os.path.split(os.fspath(path))
    stem, ending = os.path.splitext(name)
    if os.path.lexists(path):
        return None
    if folder and not os.path.isdir(folder):
        return f"there is no folder `{folder}`"
    with suppress(OSError, ValueError), os.scandir(folder or ".") as entries:
        names = sorted((entry.name for entry in islice(entries, MOST_NAMES)), key=lambda one: not one.endswith(ending))
        stems = {os.path.splitext(one)[0]: one for one in reversed(names)}  # with the same ending, where there are two
        near = did_you_mean(stem, stems)  # two short names with one ending are alike by that alone
        return f"did you mean `{os.path.join(folder, stems[near])}`?" if near else None
    return None


def read_template(path: str | Path) -> str:
    """The text of a template file, without a byte order mark; `DcrfError` if it is missing, not a file or not text."""
    name = str(path)
    try:
        data = read_at_most(path, LONGEST_TEMPLATE + 1)
    except FileNotFoundError:
        raise data_error("no-file", f"there is no file `{name}`", file=name, help=near_name(path)) from None
    except IsADirectoryError:
        raise data_error("no-file", f"`{name}` is a directory, expected a template file", file=name) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise data_error("no-file", f"cannot read `{name}`: {reason.lower()}", file=name) from None
    return template_text(data, name)


def template_text(data: bytes, name: str) -> str:
    """The bytes of a template, or its first bytes, as text; `DcrfError` if they are not text."""
    if b"\0" in data:
        raise data_error("no-text", f"`{name}` is a binary file, expected a template in UTF-8", file=name)
    if len(data) > LONGEST_TEMPLATE:
        message = f"`{name}` has more than {LONGEST_TEMPLATE >> 20} MiB, and is no template"
        raise data_error("no-text", message, file=name, help="lists of words are lexicons, in files of their own")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        message = f"byte {data[error.start]:#04x} is not UTF-8"
        remedy = "save the template as UTF-8"
        raise data_error("no-text", message, file=name, line=line, column=column, help=remedy) from None


# errors -----------------------------------------------------------------------------------------------------------


def _error(path: str | Path, slug: str, message: str, remedy: str | None = None) -> DcrfError:
    return data_error(slug, message, file=os.fspath(path), help=remedy)


# For numbers of errors of the operating system: the slug of the message, its words about a path, and the remedy.
KnownErrors = Mapping[int, tuple[str, str, str]]
_SAID = {
    "full": ("disk-full", "no room to write `{}`", "free some space, or write to another disk"),
    "read-only": (
        "read-only-target",
        "`{}` is read-only for this user",
        "choose another place, or change its permissions",
    ),
    "unreadable": ("unreadable-file", "`{}` may not be read by this user", "change its permissions"),
}
WRITING: KnownErrors = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), _SAID["full"]),
    **dict.fromkeys((errno.EROFS, errno.EACCES, errno.EPERM), _SAID["read-only"]),
}
READING: KnownErrors = dict.fromkeys((errno.EACCES, errno.EPERM), _SAID["unreadable"])


@contextmanager
def clear_os_errors(path: str | Path, known: KnownErrors) -> Iterator[None]:
    """Turns an error of the operating system into one message about `path`."""
    try:
        yield
    except OSError as error:
        if (message := known.get(error.errno or 0)) is not None:
            slug, words, help = message
            raise _error(path, slug, words.format(path), help) from error
        reason = (error.strerror or str(error)).lower()
        remedy = near_name(path) if error.errno == errno.ENOENT else None
        raise _error(path, "file-error", f"`{path}`: {reason}", remedy) from error
