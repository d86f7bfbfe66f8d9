"""The slugs of all messages of the package, found in its source.

A slug is the argument `slug` of a call: of `Diagnostic`, or of a function that passes it on. It is a constant, a name
of one, or it comes from a table of the module, as the first text of a tuple.
"""

from __future__ import annotations

import ast
import functools
import re
from collections import defaultdict
from collections.abc import Iterator

from helpers import ROOT

PACKAGE = ROOT / "dcrfdsl"
SLUG = re.compile("[a-z0-9]+(-[a-z0-9]+)*")
READERS = ("explain", "_explain")  # they take a slug, and make no message of it

Position = int | None  # of the parameter `slug`


def slugs_of(*rooms: str) -> set[str]:
    """The slugs that are made in the folders `rooms` of the package; in the whole package if none is named."""
    return {slug for slug, made in _rooms_of_slugs().items() if not rooms or made & set(rooms)}


@functools.cache
def _rooms_of_slugs() -> dict[str, set[str]]:
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}
    makers = {path: dict(_makers(tree)) for path, tree in trees.items()}
    everywhere = {name: at for module in makers.values() for name, at in module.items() if at is not None}
    rooms: dict[str, set[str]] = defaultdict(set)
    for path, tree in trees.items():
        for slug in _made(tree, {**everywhere, **makers[path]}):
            rooms[slug].add(path.relative_to(PACKAGE).parts[0])
    return rooms


def _makers(tree: ast.Module) -> Iterator[tuple[str, Position]]:
    """The functions and classes of a module, with the position of their parameter `slug`; None if they have none."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name not in READERS:
            names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
            names = names[names[:1] in (["self"], ["cls"]) :]
        elif isinstance(node, ast.ClassDef):
            fields = (field.target for field in node.body if isinstance(field, ast.AnnAssign))
            made = (part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__")
            names = [field.id for field in fields if isinstance(field, ast.Name)]
            names += [argument.arg for function in made for argument in function.args.args[1:]]
        else:
            continue
        yield node.name, names.index("slug") if "slug" in names else None


def _made(tree: ast.Module, makers: dict[str, Position]) -> Iterator[str]:
    constants = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    passed_on = {id(name) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for name in _passed_on(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            names = [argument.arg for argument in node.args.args]
            defaults = dict(zip(reversed(names), reversed(node.args.defaults), strict=False))
            if isinstance(default := defaults.get("slug"), ast.Constant):
                yield str(default.value)
        if not isinstance(node, ast.Call):
            continue
        argument = _argument(node, makers)
        if isinstance(argument, ast.Constant):
            yield str(argument.value)
        elif isinstance(argument, ast.Name) and argument.id in constants:
            yield str(constants[argument.id])
        elif isinstance(argument, ast.Name) and id(argument) not in passed_on:
            yield from _slugs_of_tables(tree)


def _passed_on(function: ast.FunctionDef) -> Iterator[ast.Name]:
    """Where a function names its own parameter `slug`."""
    if "slug" in [argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)]:
        yield from (node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == "slug")


def _argument(call: ast.Call, makers: dict[str, Position]) -> ast.expr | None:
    """The slug in a call; None if it takes none."""
    called, arguments = call.func, call.args
    if isinstance(called, ast.Name) and called.id == "partial" and arguments:
        called, *arguments = arguments
    name = called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""
    position = makers.get(name)
    if position is None:
        return None
    named = next((keyword.value for keyword in call.keywords if keyword.arg == "slug"), None)
    return named or (arguments[position] if position < len(arguments) else None)


def _slugs_of_tables(tree: ast.Module) -> Iterator[str]:
    """The first texts of the tuples in the tables of a module."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(statement.value, ast.Dict):
            for node in ast.walk(statement.value):
                first = node.elts[0] if isinstance(node, ast.Tuple) and node.elts else None
                if isinstance(first, ast.Constant) and SLUG.fullmatch(str(first.value)):
                    yield str(first.value)
