"""The modules of `standalone` as one Python file: their docstrings as headings, their imports once, the rest as it is.

Not here: what the modules do.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable
from importlib.resources import files

# In an order in which each needs only those before it.
MODULES = (
    "tagger_texts", "tagger_tokens", "tagger_sentences", "tagger_features", "tagger_elimination", "tagger_model",
    "tagger_lines", "tagger_command",
)  # fmt: skip
WIDTH = 120
END = '\n\nif __name__ == "__main__":\n    sys.exit(main())\n'


def single_file(docstring: str) -> str:
    """The text of the file, which begins with `docstring`."""
    sources = {name: (files(__package__) / "standalone" / f"{name}.py").read_text(encoding="utf-8") for name in MODULES}
    modules = [ast.parse(source) for source in sources.values()]
    _check_names(modules)
    names = sorted({name for module in modules for name in _public(module)})
    parts = [f'"""{docstring}"""\n\nfrom __future__ import annotations\n\n{_imports(modules)}\n\n{_listed(names)}\n']
    for source, module in zip(sources.values(), modules, strict=True):
        parts.append(f"\n\n{_heading(ast.get_docstring(module) or '')}\n\n{_body(source, module)}\n")
    return "".join(parts) + END


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom)


def _is_public_list(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__"


def _check_names(modules: Iterable[ast.Module]) -> None:
    """Two modules must not define one name: in one file the second would replace the first."""
    counts = Counter(name for module in modules for node in module.body for name in _defined(node))
    twice = [name for name, count in counts.items() if count > 1 and name != "__all__"]
    if twice:
        raise RuntimeError(f"modules of one file define twice: {', '.join(twice)}")


def _defined(node: ast.stmt) -> list[str]:
    """The names that a statement at the top of a module defines."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]


def _public(module: ast.Module) -> list[str]:
    """The names that a user of the one file needs."""
    return [name for node in module.body for name in _defined(node) if name in ("Tagger", "TaggerError", "main")]


def _listed(names: Iterable[str]) -> str:
    quoted = ", ".join(f'"{name}"' for name in names)
    return f"__all__ = [{quoted}]"


def _imports(modules: Iterable[ast.Module]) -> str:
    """The imports of all modules, without those of each other: the standard library, then numpy."""
    plain: dict[str, str | None] = {}
    of_module: dict[str, set[str]] = {}
    for module in modules:
        for node in module.body:
            if isinstance(node, ast.Import):
                plain.update((alias.name, alias.asname) for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module and node.module != "__future__":
                of_module.setdefault(node.module, set()).update(alias.name for alias in node.names)
    lines = [f"import {name}" + (f" as {other}" if other else "") for name, other in sorted(plain.items())]
    lines += [f"from {name} import {', '.join(sorted(wanted))}" for name, wanted in sorted(of_module.items())]
    ours = [line for line in lines if line.split()[1].startswith("numpy")]
    return "\n".join([*(line for line in lines if line not in ours), "", *ours])


def _heading(docstring: str) -> str:
    """A docstring as comments below a line."""
    lines = docstring.split("Not here:")[0].rstrip().splitlines()
    return "\n".join([f"# {'=' * (WIDTH - 2)}", *(f"# {line}".rstrip() for line in lines)])


def _body(source: str, module: ast.Module) -> str:
    """The text of a module behind its docstring, imports and list of names, comments included."""
    rest = next(n for n, node in enumerate(module.body) if n and not _is_import(node) and not _is_public_list(node))
    last = module.body[rest - 1].end_lineno
    return "\n".join(source.splitlines()[last:]).strip("\n")
