"""The states of a variable by its declaration, from the text alone, or as a data file teaches them.

Not here: reading data (`data_costs`), the states that training uses (`data.states`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from ..foundation import read_at_most
from ..semantics import SCHEMES, scheme_states
from ..syntax import Cardinality, Domain, Enumerated, Scheme, StateFile, StatesOf
from .statement_facts import facts_of
from .template_index import Declaration, Names

MOST = 1000  # states of a number or a file that are listed
MOST_BYTES = 1 << 20
BOOLEAN = ("true", "false")


def domain_of(declaration: Declaration) -> Domain | None:
    """The domain of a variable, also if only the clauses after it are not finished."""
    facts = declaration.placed.facts
    statement = facts.statement or facts_of(re.split(r"\s(?:with|initially)\b", facts.text, maxsplit=1)[0]).statement
    return getattr(statement, "domain", None)


def states_of(name: str, names: Names, learned: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The states of a variable or view; those that the data teaches if they are not declared; else none."""
    passed: set[str] = set()
    while name not in passed:
        passed.add(name)
        _, found = names.find(("value",), name)
        hidden = [one for one in found if one.declared.kind in ("label", "latent variable", "memory")]
        domain = domain_of(hidden[-1]) if hidden else None
        if isinstance(domain, StatesOf):
            name = domain.variable
            continue
        declared = _declared(domain, hidden[-1].template.path.parent if hidden else Path())
        return declared or tuple(learned.get(name, ()))
    return ()


def _declared(domain: Domain | None, directory: Path) -> tuple[str, ...]:
    match domain:
        case Enumerated(states=states):
            return states
        case Cardinality(count=count):
            return tuple(map(str, range(min(count, MOST))))
        case Scheme(name=name, types=types) if name in SCHEMES and types:
            return scheme_states(name, types)
        case StateFile(path=path):
            return _of_file(directory / path)
    return ()


def _of_file(path: Path) -> tuple[str, ...]:
    try:
        return _lines(str(path), path.stat().st_mtime_ns) if path.is_file() else ()
    except (OSError, ValueError):
        return ()


@lru_cache(maxsize=64)
def _lines(path: str, changed: int) -> tuple[str, ...]:
    """The lines of a file of states. changed: when it was, so that it is read again."""
    try:
        text = read_at_most(path, MOST_BYTES).decode(errors="replace")
    except OSError:
        return ()
    return tuple(line for line in text.splitlines() if line)[:MOST]
