"""Measures of the house: its size, its circles, its floors, and how far it is from a door to a kernel.

    python tests/project/measures.py            prints the table (half a minute; in the tests' environment)
    python tests/project/measures.py --list     also the circles, the arrows and the frames on the way to a kernel

All imports count: those at the top of a module, those inside functions, and those for types alone. An import of a name
from a room counts as one of the module that the room's door, its `__init__.pyi`, takes the name from. The tests of
architecture use the same functions. Not here: rules of layers, which `lint-imports` holds.
"""

from __future__ import annotations

import ast
import functools
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import networkx as nx

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "dcrfdsl"
Arrows = dict[str, set[str]]  # importer -> imported

# Run in a Python of its own, whose kernels are interpreted: the functions between `predict` and each kernel it enters
# first. What numpy puts around an interpreted kernel does not count.
WAYS = """
import sys, warnings
warnings.simplefilter("ignore")
import dcrfdsl
text = "data conll(word, y)\\nlabel y in {P, Q}\\nclique y: word\\nclique y[-1], y\\ninfer exact\\n"
resolved = dcrfdsl.load_text(text + "train likelihood: optimizer = lbfgs(max_iterations = 1)\\n")
corpus = dcrfdsl.corpus_from_rows([[("a", "P"), ("b", "Q"), ("a", "P")], [("b", "Q")]], resolved.require().data)
model = dcrfdsl.fit(resolved, corpus, threads=1)
model.predict(corpus, threads=1)
KERNELS = "/dcrfdsl/kernels/"
def profile(frame, event, argument):
    file = frame.f_code.co_filename
    if event != "call" or KERNELS not in file:
        return
    way, files = [], []
    while frame is not None:
        if "/dcrfdsl/" in (file := frame.f_code.co_filename):
            way.append(f"{file.rpartition('/dcrfdsl/')[2]}:{frame.f_code.co_qualname}")
            files.append(file)
        frame = frame.f_back
    if not any(KERNELS in file for file in files[1:]):
        print(*reversed(way))
sys.setprofile(profile)
model.predict(corpus, threads=1)
sys.setprofile(None)
"""


def module_name(path: Path, root: Path = ROOT) -> str:
    """`dcrfdsl.graph.unroll` for its file; a room has the name of its folder."""
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def modules(root: Path = ROOT) -> dict[str, Path]:
    """The file of every module of the package, by name."""
    return {module_name(path, root): path for path in sorted((root / "dcrfdsl").rglob("*.py"))}


@functools.cache
def doors(root: Path = ROOT) -> dict[str, dict[str, str]]:
    """For every room with a door, the module or room that each name is taken from."""
    found = {}
    for room, path in modules(root).items():
        door = path.with_suffix(".pyi")
        if path.name == "__init__.py" and door.exists():
            found[room] = {name: source for source, name in imported_names(door, root)}
    return found


@functools.cache
def imported_names(path: Path, root: Path = ROOT) -> tuple[tuple[str, str], ...]:
    """(module or room, name) of every import from the package, wherever it stands in the file."""
    return tuple(_imports(path, root))


def _imports(path: Path, root: Path) -> Iterator[tuple[str, str]]:
    package = module_name(path.parent / "__init__.py", root).split(".")
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            if node.level:
                above = package[: len(package) - node.level + 1]
                source = ".".join([*above, node.module] if node.module else above)
            elif (node.module or "").split(".")[0] == "dcrfdsl":
                source = node.module or ""
            else:
                continue
            yield from ((source, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "dcrfdsl":
                    yield alias.name, ""


def home(source: str, name: str, root: Path = ROOT) -> str:
    """The module that an import of `name` from `source` leads to, through as many doors as there are."""
    if f"{source}.{name}" in modules(root):
        return f"{source}.{name}"
    further = doors(root).get(source, {}).get(name)
    return source if further is None else home(further, name, root)


@functools.cache
def module_arrows(root: Path = ROOT) -> Mapping[str, set[str]]:
    """Which modules each module imports."""
    arrows: Arrows = {}
    for module, path in modules(root).items():
        targets = {home(source, name, root) for source, name in imported_names(path, root)}
        arrows[module] = {target for target in targets if target in modules(root) and target != module}
    return arrows


def lifted(arrows: Mapping[str, set[str]], to: Callable[[str], str]) -> Arrows:
    """The same arrows between groups of modules, without those inside a group."""
    found: Arrows = defaultdict(set)
    for one, others in arrows.items():
        found[to(one)] |= {to(other) for other in others} - {to(one)}
    return dict(found)


def circles(arrows: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of two or more that all import each other, directly or through others; each is sorted."""
    graph = nx.DiGraph([(one, other) for one, others in arrows.items() for other in others])
    return sorted(sorted(group) for group in nx.strongly_connected_components(graph) if len(group) > 1)


def top(module: str) -> str:
    """The box of the top level that a module lies in."""
    return module.split(".")[1] if "." in module else module


def room(module: str) -> str:
    """The room or wing of a module; a module outside of all rooms stands for itself."""
    if modules()[module].name == "__init__.py" or module.count(".") == 1:
        return module
    return module.rpartition(".")[0]


def floors(arrows: Mapping[str, set[str]]) -> int:
    """Boxes on the longest way down; circles count as one box."""
    graph = nx.DiGraph([(one, other) for one, others in arrows.items() for other in others])
    return 1 + int(nx.dag_longest_path_length(nx.condensation(graph)))


def ways_to_kernels() -> dict[str, list[str]]:
    """The longest ways from `predict` to a kernel, as the functions called, both included.

    "features": to kernels that make feature rows.   "labels": to those that find the labels.
    """
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(ROOT)}
    run = subprocess.run([sys.executable, "-c", WAYS], env=environment, capture_output=True, text=True, check=True)
    ways = sorted((line.split(" ") for line in run.stdout.splitlines()), key=len)
    return {"labels" if any("inference/" in call for call in way) else "features": way for way in ways}


def classes_under_a_model() -> int:
    """How many classes of the package `TrainedModel` inherits from."""
    from dcrfdsl import TrainedModel

    return sum(one.__module__.startswith("dcrfdsl") for one in TrainedModel.__mro__[1:])


def root_names() -> int:
    """What `from dcrfdsl import …` offers to programs."""
    return sum(not name.endswith("_ipython_extension") for _, name in imported_names(PACKAGE / "__init__.pyi"))


def tests() -> tuple[int, int]:
    """How many tests run every time, and how many there are."""

    def collected(*options: str) -> int:
        command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-n", "0", *options]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        return sum("::" in line for line in run.stdout.splitlines())

    return collected(), collected("-m", "")


def main() -> None:
    arrows = module_arrows()
    boxes = lifted({one: others for one, others in arrows.items() if one != "dcrfdsl"}, top)
    lines = [len(path.read_text(encoding="utf-8").splitlines()) for path in modules().values()]
    in_modules, in_rooms = circles(arrows), circles(lifted(arrows, room))
    ways = ways_to_kernels()
    quick, every = tests()
    rows = {
        "lines of the package": f"{sum(lines):,}",
        "files of the package": f"{len(lines)}, of which {sum(count < 60 for count in lines)} under 60 lines",
        "circles of modules": f"{len(in_modules)}, with {sum(map(len, in_modules))} modules",
        "circles of rooms and wings": f"{len(in_rooms)}, with {sum(map(len, in_rooms))} rooms",
        "top level: boxes, floors, arrows": f"{len(boxes)}, {floors(boxes)}, {sum(map(len, boxes.values()))}",
        "calls from `predict` to a kernel": ", ".join(f"{len(way) - 1} for {what}" for what, way in ways.items()),
        "classes under `TrainedModel`": f"{classes_under_a_model()}",
        "names of the root": f"{root_names()}",
        "quick tests, all tests": f"{quick:,}, {every:,}",
    }
    for name, value in rows.items():
        print(f"{name:<34} {value}")
    if "--list" in sys.argv:
        for title, groups in (("modules", in_modules), ("rooms", in_rooms)):
            print(f"\ncircles of {title}", *(f"  {', '.join(group)}" for group in groups), sep="\n")
        print(
            "\narrows", *(f"  {one} -> {', '.join(sorted(others))}" for one, others in sorted(boxes.items())), sep="\n"
        )
        for what, way in ways.items():
            print(f"\nway to a kernel for {what}", *(f"  {call}" for call in way), sep="\n")


if __name__ == "__main__":
    main()
