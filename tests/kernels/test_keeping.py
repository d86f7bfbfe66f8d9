"""Compiled functions kept between processes: never stale, and no disk, home or neighbour ends a run."""

from __future__ import annotations

import ast
import contextlib
import os
import pickle
import resource
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from numba.core import config

from dcrfdsl.foundation import operating_system as places
from dcrfdsl.kernels.runtime import kernel_cache as keeping
from dcrfdsl.syntax import resources

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "dcrfdsl"

# `primal_and_gap` calls `margin_of`, which is compiled by itself: loss 5, margin 1, so 4
GAPS = """
import numpy as np
from numba.core.event import Listener, register
class Counter(Listener):
    compiled = 0
    def on_start(self, event): Counter.compiled += event.data["dispatcher"].py_func.__module__.startswith("dcrfdsl")
    def on_end(self, event): pass
register("numba:compile", Counter())
from dcrfdsl.kernels.optimization.dual_ascent import Cuts, primal_and_gap
one = np.ones(1)
off, other = np.array([0, 1]), np.zeros(1, np.int64)
cuts = Cuts(off, off, np.zeros(1, np.int32), one, off, other, 5 * one, one, 0 * one)
"""
SHOW = GAPS + "print(primal_and_gap(cuts, one, False, one)[0], Counter.compiled)"
# one small kernel
COUNT = """
import numpy as np
from dcrfdsl.kernels.runtime import kernel_cache as keeping
import dcrfdsl.kernels.runtime.permutations
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the package to edit."""
    out = tmp_path / "tree"
    shutil.copytree(PACKAGE, out / "dcrfdsl", ignore=shutil.ignore_patterns("__pycache__"))
    return out


def start(code: str, tree: Path, **environment: str) -> subprocess.Popen[str]:
    """A process that finds the package in `tree`; by default it has no home, and `tree` for temporary files."""
    own = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "HOME": "/nowhere"}
    own |= {"TMPDIR": str(tree), **environment}
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", code], cwd=tree, env=own, text=True, stdout=pipe, stderr=pipe)


def said(process: subprocess.Popen[str]) -> list[str]:
    out, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    return out.split()


def run(code: str, tree: Path, **environment: str) -> list[str]:
    return said(start(code, tree, **environment))


def kept_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("**/dcrfdsl-kernels-*/*.nbc"))


# what is kept --------------------------------------------------------------------------------------------------------

EVERY = """
import contextlib, gc, importlib, pkgutil, dcrfdsl
from numba.core.dispatcher import Dispatcher
from dcrfdsl.kernels.runtime.kernel_cache import KernelCache
for module in pkgutil.walk_packages(dcrfdsl.__path__, "dcrfdsl."):
    with contextlib.suppress(dcrfdsl.DcrfError):  # it needs a library that is not here
        importlib.import_module(module.name)
for found in gc.get_objects():
    if isinstance(found, Dispatcher) and found.py_func.__module__.startswith("dcrfdsl"):
        function = found.py_func
        own = {name for name in function.__code__.co_names if name in function.__globals__}
        print(function.__module__, function.__qualname__, isinstance(found._cache, KernelCache),
              found._cache._cache_file._at_start, found._cache.cache_path, *sorted(own), sep="|")
"""


@pytest.fixture(scope="module")
def every() -> list[list[str]]:
    """Of every compiled function: module, name, whether it is kept as it should be, stamp, directory, its globals."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_DISABLE_JIT": "0"}
    done = subprocess.run([sys.executable, "-c", EVERY], env=environment, capture_output=True, text=True, check=True)
    return [line.split("|") for line in done.stdout.splitlines()]


@pytest.mark.long
def test_every_compiled_function_is_kept_under_the_fingerprint_of_all_kernels(every: list[list[str]]) -> None:
    assert len(every) > 200
    assert {
        "dcrfdsl.kernels.optimization.dual_ascent",
        "dcrfdsl.kernels.extraction.joins",
        "dcrfdsl.kernels.extraction.line_scan",
    } <= {module for module, *_ in every}
    now = keeping.fingerprint()
    for module, name, kept, stamp, folder, *_ in every:
        assert (kept, stamp.split()[0]) == ("True", now), f"{module}.{name}"
        assert Path(folder).name == f"dcrfdsl-kernels-{now}", f"{module}.{name}"


@pytest.mark.long
def test_every_compiled_function_lies_among_the_kernels(every: list[list[str]]) -> None:
    """The fingerprint covers what lies there, at any depth."""
    assert {module.split(".")[1] for module, *_ in every} == {"kernels"}


COMPILERS = {"njit", "jit", "vectorize", "guvectorize", "cfunc", "stencil", "generated_jit", "jitclass"}
EXTENDERS = {"intrinsic", "overload", "overload_method", "overload_attribute", "register_jitable", "register_model"}


def numba_names(text: str) -> set[str]:
    """What a file takes from Numba."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "numba":
            names |= {alias.name for alias in node.names}
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("numba", "nb"):
            names.add(node.attr)
    return names


@pytest.mark.long
def test_only_the_decorators_of_kernels_compile() -> None:
    used = {path: numba_names(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")}
    assert [path.name for path, names in used.items() if names & COMPILERS] == ["compilation.py"]
    extended = sorted(path.name for path, names in used.items() if names & EXTENDERS)
    assert extended == ["allocation.py", "machine_vectors.py"]  # the fingerprint covers both


# what the fingerprint covers -----------------------------------------------------------------------------------------


def _append(path: Path) -> None:
    path.write_text(path.read_text() + "\n")


EDITS: dict[str, Callable[[Path], object]] = {
    "a file": lambda folder: _append(folder / "a.py"),
    "a file of a package in a package": lambda folder: _append(folder / "deep" / "deeper" / "b.py"),
    "a new file": lambda folder: (folder / "deep" / "c.py").write_text(""),
    "a file less": lambda folder: (folder / "a.py").unlink(),
    "another name": lambda folder: (folder / "a.py").rename(folder / "z.py"),
    "a line moved to another file": lambda folder: [
        (folder / "a.py").write_text("x = 1\n"),
        (folder / "deep" / "deeper" / "b.py").write_text("y = 2\nz = 3\n"),
    ],
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_the_fingerprint_covers_kernel_files_at_any_depth(edit: Callable[[Path], object], tmp_path: Path) -> None:
    (tmp_path / "deep" / "deeper").mkdir(parents=True)
    (tmp_path / "a.py").write_text("x = 1\ny = 2\n")
    (tmp_path / "deep" / "deeper" / "b.py").write_text("z = 3\n")
    before = keeping.fingerprint(tmp_path)
    assert before == keeping.fingerprint(tmp_path)
    edit(tmp_path)
    assert before != keeping.fingerprint(tmp_path)


@pytest.mark.parametrize("setting", [name for name in keeping.SETTINGS if hasattr(config, name)])
def test_the_fingerprint_covers_settings_of_the_compiler(setting: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = keeping.fingerprint()
    monkeypatch.setattr(config, setting, "another")
    assert keeping.fingerprint() != before


def test_without_sources_nothing_is_kept(tmp_path: Path) -> None:
    """As in an archive, or where only bytecode was shipped: then no edit could be seen."""
    assert keeping.fingerprint(tmp_path) == ""


@pytest.mark.long
def test_an_edit_of_a_function_changes_what_its_callers_compute(tree: Path) -> None:
    ascent = tree / "dcrfdsl" / "kernels" / "optimization" / "dual_ascent.py"
    text = ascent.read_text()
    assert run(SHOW, tree) == ["4.0", "2"]
    ascent.write_text(text.replace("total += cuts.value[i] *", "total += 3.0 * cuts.value[i] *"))
    assert run(SHOW, tree) == ["2.0", "2"]
    ascent.write_text(text)
    assert run(SHOW, tree) == ["4.0", "0"]  # nobody removed what the first version had kept


@pytest.mark.long
def test_bounds_checks_have_a_directory_of_their_own(tree: Path) -> None:
    outside = SHOW.replace("np.zeros(1, np.int32)", "np.full(1, 10**6, np.int32)")
    assert run(SHOW, tree) == ["4.0", "2"]
    _, errors = start(outside, tree, NUMBA_BOUNDSCHECK="1").communicate()
    assert "IndexError" in errors
    assert len({path.parent for path in kept_in(tree)}) == 2


@pytest.mark.long
def test_an_edit_after_the_start_keeps_nothing(tree: Path) -> None:
    """It is not known then whether what was compiled is the old file or the new one."""
    edit = "\nimport dcrfdsl.kernels.chain.forward_backward as chain\nopen(chain.__file__, 'a').write('# more')\n"
    assert run(GAPS + edit + "print(primal_and_gap(cuts, one, False, one)[0])", tree) == ["4.0"]
    assert not kept_in(tree)


# where it is kept ----------------------------------------------------------------------------------------------------


def blocked(folder: Path) -> Path:
    """What no process, whoever runs it, can make a folder or a file in: a file lies in its place."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("")
    return folder


PLACES = {  # environment, where `{}` is the tree; the folder where it is kept, None: nowhere
    "a home": ({"HOME": "{}/home"}, "home/.cache/dcrfdsl"),
    "the user's cache": ({"HOME": "{}/home", "XDG_CACHE_HOME": "{}/xdg"}, "xdg/dcrfdsl"),
    "no home": ({"HOME": "/nowhere"}, "dcrfdsl-{}"),
    "an empty home": ({"HOME": ""}, "dcrfdsl-{}"),
    "a home that is a file": ({"HOME": "{}/blocked"}, "dcrfdsl-{}"),
    "a cache that is a file": ({"HOME": "{}/home", "XDG_CACHE_HOME": "{}/blocked"}, "dcrfdsl-{}"),
    "a cache by a relative path": ({"HOME": "{}/home", "XDG_CACHE_HOME": "xdg"}, "home/.cache/dcrfdsl"),
    "a given cache that is a file": ({"NUMBA_CACHE_DIR": "{}/blocked", "HOME": "{}/home"}, "home/.cache/dcrfdsl"),
    "a given cache": ({"NUMBA_CACHE_DIR": "{}/given/deep"}, "given/deep"),
    "nothing": ({"TMPDIR": "{}/blocked"}, None),
}


@pytest.mark.long
@pytest.mark.parametrize(("environment", "place"), PLACES.values(), ids=PLACES)
def test_there_is_a_place_for_every_environment(environment: dict[str, str], place: str | None, tree: Path) -> None:
    blocked(tree / "blocked")
    (tree / "home").mkdir()
    code = COUNT + "import sys; sys.stdout.write(str(keeping.cache_directories().write))"
    if place is None:  # tempfile takes /tmp where `TMPDIR` cannot be written to
        code = "import tempfile; tempfile.gettempdir = lambda: '/nowhere'" + code
    own = {name: value.format(tree) for name, value in environment.items()}
    expected = place and str(tree / place.format(os.getuid()) / f"dcrfdsl-kernels-{keeping.fingerprint()}")
    assert run(code, tree, **own) == [str(expected)]


@pytest.mark.long
def test_with_no_place_at_all_everything_is_compiled(tree: Path) -> None:
    code = "import tempfile; tempfile.gettempdir = lambda: '/nowhere'" + SHOW
    assert run(code, tree) == ["4.0", "2"]
    assert not kept_in(tree)


def test_a_user_who_may_write_nowhere(tree: Path) -> None:
    """What is read-only is read, and what it lacks is compiled."""
    if os.getuid() == 0:
        pytest.skip("root may write everywhere")
    run(SHOW, tree)
    folder = kept_in(tree)[0].parent
    for path in (folder, folder.parent, folder.parent.parent, tree):
        path.chmod(0o555)
    try:
        assert run(SHOW, tree, TMPDIR="/nowhere") == ["4.0", "0"]
    finally:
        for path in (tree, folder.parent.parent, folder.parent, folder):
            path.chmod(0o755)


def test_a_directory_that_cannot_be_written_to_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    name = f"dcrfdsl-kernels-{keeping.AT_START}"
    (first / name).mkdir(parents=True)
    monkeypatch.setattr(config, "CACHE_DIR", str(first))
    monkeypatch.setattr(keeping, "keeping_places", lambda: [second])
    monkeypatch.setattr(keeping, "is_writable", lambda folder: folder.parent != first and places.is_writable(folder))
    found = keeping.cache_directories.__wrapped__()
    assert found == ((first / name, second / name), second / name)


def test_a_folder_for_temporary_files_is_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read from it is executed."""
    monkeypatch.setattr(places.tempfile, "gettempdir", lambda: str(tmp_path))
    *_, own = places.keeping_places()
    assert own == tmp_path / f"dcrfdsl-{os.getuid()}"
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    own.chmod(0o777)
    assert own not in list(places.keeping_places())
    own.rmdir()
    own.symlink_to(tmp_path)
    assert own not in list(places.keeping_places())


SYSTEMS = {  # platform, environment; the folder below the home
    "linux": ("linux", {}, ".cache/dcrfdsl"),
    "macOS": ("darwin", {}, "Library/Caches/dcrfdsl"),
    "macOS, a given cache": ("darwin", {"XDG_CACHE_HOME": "{}/xdg"}, "xdg/dcrfdsl"),
    "Windows": ("win32", {"LOCALAPPDATA": "{}/AppData/Local"}, "AppData/Local/dcrfdsl"),
    "Windows without a profile": ("win32", {}, None),
}


@pytest.mark.parametrize(("platform", "environment", "place"), SYSTEMS.values(), ids=SYSTEMS)
def test_caches_lie_where_the_system_has_them(
    platform: str, environment: dict[str, str], place: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"HOME": "{}", **environment}.items():
        monkeypatch.setenv(name, value.format(tmp_path))
    monkeypatch.setattr(places.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(places.sys, "platform", platform)
    *homes, temporary = places.keeping_places()
    monkeypatch.undo()
    assert homes == ([tmp_path / place] if place else [])
    assert temporary.parent == tmp_path


@pytest.mark.parametrize(
    ("mode", "is_taken"), {0o700: True, 0o755: True, 0o775: True, 0o777: False, 0o555: True}.items()
)
def test_a_cache_in_a_home_that_everybody_may_write_to_is_left(
    mode: int, is_taken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    own = next(places.keeping_places())
    assert (own, stat.S_IMODE(own.stat().st_mode)) == (tmp_path / "dcrfdsl", 0o700)
    own.chmod(mode)
    assert (next(places.keeping_places()) == own) == is_taken


def test_a_cache_of_another_user_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with `sudo` that keeps the home: what another user wrote would be executed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    own = next(places.keeping_places())
    status = own.stat()
    if status.st_uid == 0:
        os.chown(own, 12345, -1)
    monkeypatch.setattr(places.os, "getuid", lambda: 12346)
    monkeypatch.setattr(places.tempfile, "gettempdir", lambda: str(tmp_path / "nowhere"))
    assert own not in list(places.keeping_places())


@pytest.mark.long
def test_a_folder_for_temporary_files_is_made_only_where_it_is_needed(tree: Path) -> None:
    run(COUNT + "keeping.cache_directories()", tree, HOME=str(tree))
    assert not list(tree.glob("dcrfdsl-*"))


def test_the_parser_is_kept_where_a_user_has_no_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(places.os.path, "expanduser", lambda path: path)  # as for a user that the system does not know
    monkeypatch.setattr(places.tempfile, "gettempdir", lambda: str(tmp_path))
    assert resources.cache_path("parser").parent == tmp_path / f"dcrfdsl-{os.getuid()}"


# what goes wrong -----------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_processes_that_compile_at_once_do_no_harm(tree: Path) -> None:
    swapped = SHOW.replace("one, 5 * one", "np.ones(2)[::2], 5 * one")  # another signature of the same functions
    processes = [start(code, tree) for code in (SHOW, swapped, SHOW, swapped)]
    assert [said(process)[0] for process in processes] == ["4.0"] * 4
    assert run(SHOW, tree) == run(swapped, tree) == ["4.0", "0"]
    assert not list(tree.glob("**/*.tmp"))


@pytest.mark.long
def test_a_full_disk_keeps_nothing_and_leaves_nothing(tree: Path) -> None:
    """A limit on the size of files stops a write halfway, as a full disk does."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
    assert resource.RLIMIT_FSIZE is not None
    assert run(limit + SHOW, tree) == ["4.0", "2"]
    assert not kept_in(tree)
    assert not list(tree.glob("**/*.tmp"))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> keeping._Files:
    """The files of a function, in a directory of their own."""
    monkeypatch.setattr(keeping, "cache_directories", lambda: keeping.CacheDirectories((tmp_path,), tmp_path))
    return keeping._Files("function", keeping.__file__)


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "cut off": lambda content: content[: len(content) // 2],
    "a bit": lambda content: content[:-9] + bytes([content[-9] ^ 1]) + content[-8:],
    "no pickle": lambda content: keeping.hashlib.sha256(b"x").digest() + b"x",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_not_taken(damage: Callable[[bytes], bytes], files: keeping._Files, tmp_path: Path) -> None:
    files.save(("key", 1), ["some code"])
    assert files.load(("key", 1)) == ["some code"]
    assert files.load(("key", 2)) is None
    (path,) = tmp_path.glob("*.nbc")
    path.write_bytes(damage(path.read_bytes()))
    with contextlib.suppress(pickle.UnpicklingError):  # `KernelCache` takes any error for a file that is missing
        assert files.load(("key", 1)) is None
    files.save(("key", 1), ["other code"])
    assert files.load(("key", 1)) == ["other code"]


class Key:
    """Its text is that of other keys."""

    def __init__(self, number: int):
        self.number = number

    def __repr__(self) -> str:
        return "a key"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and self.number == other.number


def test_two_keys_of_one_text_are_told_apart(files: keeping._Files) -> None:
    files.save(Key(1), "code")
    assert (files.load(Key(1)), files.load(Key(2))) == ("code", None)


@pytest.mark.long
def test_a_function_whose_files_are_damaged_is_compiled_and_kept_anew(tree: Path) -> None:
    run(SHOW, tree)
    for path in kept_in(tree):
        path.write_bytes(DAMAGE["no pickle"](b""))
    assert run(SHOW, tree) == ["4.0", "2"]
    assert run(SHOW, tree) == ["4.0", "0"]


@pytest.mark.long
def test_a_directory_that_goes_while_it_is_used_is_made_again(tree: Path) -> None:
    remove = "\nimport shutil; from dcrfdsl.kernels.runtime import kernel_cache\n"
    remove += "shutil.rmtree(kernel_cache.cache_directories().write)\n"
    assert run(GAPS + remove + "print(primal_and_gap(cuts, one, False, one)[0])", tree) == ["4.0"]
    assert len(kept_in(tree)) == 2


# age -----------------------------------------------------------------------------------------------------------------


def folder_of_age(folder: Path, name: str, days: float, *, stamped: bool = True) -> Path:
    out = folder / name
    out.mkdir()
    (out / "a.nbc").write_bytes(b"")
    then = time.time() - days * keeping.DAY
    if stamped:
        (out / keeping.STAMP).touch()
        os.utime(out / keeping.STAMP, (then, then))
    os.utime(out, (then, then))
    return out


def test_what_was_not_used_for_a_month_goes_and_only_ours(tmp_path: Path) -> None:
    digits = iter("0123456789abcdef")

    def name() -> str:
        return f"dcrfdsl-kernels-{next(digits) * 16}"

    stays = [
        folder_of_age(tmp_path, name(), 1),
        folder_of_age(tmp_path, name(), 29),
        folder_of_age(tmp_path, "kernels-0123456789abcdef", 99),
        folder_of_age(tmp_path, "dcrfdsl-kernels-notes", 99),
        folder_of_age(tmp_path, f"my-{name()}", 99),
        folder_of_age(tmp_path, "other", 99),
    ]
    link = tmp_path / name()
    link.symlink_to(stays[-1])
    goes = [
        folder_of_age(tmp_path, name(), 31),
        folder_of_age(tmp_path, name(), 31, stamped=False),
        folder_of_age(tmp_path, f"{name()}-old-01234567", 31),
    ]
    own = tmp_path / name()
    assert keeping._mark_used(own)
    assert all(path.is_dir() for path in [*stays, link, own])
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in [*stays, link, own]}, goes


def test_others_are_looked_at_once_a_day_and_what_a_killed_process_left(tmp_path: Path) -> None:
    own = tmp_path / "dcrfdsl-kernels-0000000000000000"
    assert keeping._mark_used(own)
    old = folder_of_age(tmp_path, "dcrfdsl-kernels-1111111111111111", 31)
    left, fresh = own / "a.nbc.1.tmp", own / "a.nbc.2.tmp"
    for path in (left, fresh):
        path.write_bytes(b"")
    os.utime(left, (time.time() - 2 * keeping.DAY,) * 2)
    assert keeping._mark_used(own)
    assert old.is_dir()
    os.utime(own / keeping.STAMP, (time.time() - 2 * keeping.DAY,) * 2)
    assert keeping._mark_used(own)
    assert (old.exists(), left.exists(), fresh.exists()) == (False, False, True)
    assert time.time() - (own / keeping.STAMP).stat().st_mtime < 60


def test_a_directory_in_use_stays_young(tmp_path: Path) -> None:
    """A process marks it at its start and whenever it keeps something."""
    own = folder_of_age(tmp_path, "dcrfdsl-kernels-0000000000000000", 40)
    assert keeping._mark_used(own)
    assert keeping._mark_used(tmp_path / "dcrfdsl-kernels-1111111111111111")
    assert own.is_dir()


def test_no_kept_kernel_calls_what_only_compiling_loads() -> None:
    """Kernels load without Numba's implementations, and LLVM ends the process where a symbol is missing. Of all symbols
    only those of hashing, for sets and dictionaries, come with the implementations.
    """
    for folder in keeping.cache_directories().read:
        for path in folder.glob("dcrfdsl.*.nbc"):
            assert b"_numba_hashsecret" not in path.read_bytes(), path.name
