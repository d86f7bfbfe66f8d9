"""The house keeps its own rules: who imports whom, what is documented, what stays light."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from measures import ROOT, circles, imported_names, module_arrows, module_name, modules

from dcrfdsl.semantics import reference_entries
from dcrfdsl.semantics.reference.method_entries import TABLES
from dcrfdsl.semantics.schema.function_signatures import FUNCTIONS

MODULES = modules()
FILES = sorted(MODULES.values())
ROOMS = {module for module, path in MODULES.items() if path.name == "__init__.py"}
HEAVY = ("numba", "scipy", "networkx", "sklearn", "pandas")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_rooms_import_only_downwards(tmp_path: Path) -> None:
    lint = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    command = [sys.executable, "-c", lint, "--cache-dir", str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


# Their classes go by the module's name, `ast.Clique` beside `model.Clique`: the same word is a part of a text, of a
# specification and of a template that is being built.
NAMESPACES = {
    "dcrfdsl.syntax.nodes",
    "dcrfdsl.syntax.statements",
    "dcrfdsl.semantics.schema.model_spec",
}


def wrong_entries(path: Path) -> Iterator[str]:
    """The imports of a file that enter another room by a module of it, or a room inside a room that is not theirs.

    A module is imported by its own room and by the rooms inside that one alone. The wings of `kernels` are rooms of
    their own: what they have in common is that they are compiled.
    """
    own = module_name(path.parent / "__init__.py")
    for source, imported in imported_names(path):
        module = f"{source}.{imported}" if f"{source}.{imported}" in MODULES else source
        room = module if module in ROOMS else module.rpartition(".")[0]
        if module in NAMESPACES or f"{own}.".startswith(f"{room}."):
            continue
        if module not in ROOMS:
            yield f"{name(path)}: {module} is not a door"
        outer = module.rpartition(".")[0]
        if not (f"{own}.".startswith(f"{outer}.") or outer in ("dcrfdsl", "dcrfdsl.kernels")):
            yield f"{name(path)}: {module} lies inside {outer}"


def test_a_room_is_entered_by_its_door() -> None:
    assert [wrong for path in FILES for wrong in wrong_entries(path)] == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports inside functions and for types alone count too."""
    assert circles(module_arrows()) == []


def test_circles_are_found_behind_doors_in_functions_and_among_types(tmp_path: Path) -> None:
    files = {
        "__init__": "",
        "a": "from .room import b",
        "room/__init__": "",
        "room/b": "def f():\n    from .c import g",
        "room/c": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .. import a",
        "room/d": "from .b import f",
        "e": "from .room import d",
    }
    for name, text in files.items():
        path = tmp_path / "dcrfdsl" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "dcrfdsl" / "room" / "__init__.pyi").write_text("from .d import d as d")
    found = [[module.removeprefix("dcrfdsl.") for module in one] for one in circles(module_arrows(tmp_path))]
    assert found == [["a", "room.b", "room.c"]]
    assert module_arrows(tmp_path)["dcrfdsl.e"] == {"dcrfdsl.room.d"}


def test_no_name_of_a_module_occurs_twice() -> None:
    """Wings may be called alike (`graph.pieces`, `criteria.pieces`): they are never named alone."""
    names = Counter(module.rpartition(".")[2] for module in MODULES if module not in ROOMS)
    names.update({room.rpartition(".")[2] for room in ROOMS})
    assert [twice for twice, count in names.items() if count > 1] == []


def value_of(offered: ModuleType, name: str) -> object:
    """What a door offers, None where the library that it needs is not installed, as the error says."""
    try:
        return getattr(offered, name)
    except ImportError as error:
        assert "missing-package" in str(error)
        return None


def test_what_a_door_offers_is_there() -> None:
    for room in sorted(room for room in ROOMS if MODULES[room].with_suffix(".pyi").exists()):
        offered = importlib.import_module(room)
        modules = [name for name in offered.__all__ if isinstance(value_of(offered, name), ModuleType)]
        assert modules == (["template"] if room == "dcrfdsl" else []), room


def test_every_file_says_what_it_does() -> None:
    said = {name(path): ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "" for path in FILES}
    assert [path for path, text in said.items() if len(text) <= 40] == []


def test_the_modules_of_a_room_have_no_lists_of_their_names() -> None:
    """What a room offers stands in its door, once."""
    assert [name(path) for path in FILES if path.name != "__init__.py" and "\n__all__" in path.read_text("utf-8")] == []


def methods() -> dict[str, type]:
    """Every method of the tables."""
    return {f"{table.kind} {key}": entry for table in TABLES for key, entry in table.items()}


def test_methods_and_feature_functions_say_what_they_do() -> None:
    said = {f"{entry.kind} {entry.name}": entry.summary for entry in reference_entries()}
    said = {name: said.get(name, "") for name in (*methods(), *(f"{FUNCTIONS.kind} {name}" for name in FUNCTIONS))}
    assert [name for name, text in said.items() if len(text) <= 10] == []


LIGHT = {
    "import": "import dcrfdsl",
    "--help": "from dcrfdsl.cli import run; run(['--help'])",
    "check": "from dcrfdsl.cli import run; assert run(['check', 'a.dcrf']) == 0",
    "fmt": "from dcrfdsl.cli import run; assert run(['fmt', 'a.dcrf']) == 0",
}
TEMPLATE = """data conll(word, pos, chunk)
label chunk
lexicon days = "days.txt"
clique chunk: bias, lower(word)[-1..1], word in days, word has /[0-9]/
clique chunk[-1], chunk
infer trp
"""


@pytest.mark.long
@pytest.mark.parametrize("case", LIGHT)
def test_templates_are_read_and_checked_without_the_engine(case: str, tmp_path: Path) -> None:
    (tmp_path / "a.dcrf").write_text(TEMPLATE)
    (tmp_path / "days.txt").write_text("Monday\nTuesday\n")
    code = f"{LIGHT[case]}\nimport sys\nprint(*sorted(set(sys.modules) & {set(HEAVY)}), file=sys.stderr)"
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert not run.stderr.splitlines()[-1].split()
