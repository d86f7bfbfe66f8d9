"""What a data file says of a model, as hover and inlay hints show it: states, table entries, weights.

The file is read in a process of its own, `python -c "from dcrfdsl.language_server import print_costs; print_costs()"`:
the engine takes seconds to load and more to compile, and answers must not wait for it. The request comes as JSON on
stdin, the answer goes as JSON to stdout. Own feature functions are not loaded, since an editor must not run code of the
folder that it shows; a template with such functions has no costs.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from ..foundation import DcrfError, dataclass, read_template, render_all
from ..semantics import check, load_text


@dataclass(frozen=True)
class CliqueCost:
    """states: of its sites, `45 × 45`.   entries: of its table, None for segments, which have none."""

    states: str
    entries: int | None
    weights: int

    def words(self) -> str:
        entries = "" if self.entries is None else f", {self.entries:,} entries"
        return f"{self.states} states{entries}, {self.weights:,} weight{'' if self.weights == 1 else 's'}"


@dataclass(frozen=True)
class CostReport:
    """states: of every variable, by name.   cliques: by their name, or by their sites as written.   problem: why there
    is no more.
    """

    data_name: str = ""
    states: Mapping[str, Sequence[str]] = field(default_factory=dict)
    cliques: Mapping[str, CliqueCost] = field(default_factory=dict)
    problem: str = ""


NO_COSTS = CostReport()


def report_of(answer: Mapping[str, Any], data_name: str) -> CostReport:
    """The report that the other process has written as JSON."""
    cliques = {label: CliqueCost(*cost) for label, cost in answer.get("cliques", {}).items()}
    states = {name: tuple(listed) for name, listed in answer.get("states", {}).items()}
    return CostReport(data_name, states, cliques, str(answer.get("problem", "")))


# in a process of its own ----------------------------------------------------------------------------------------------


def print_costs() -> None:
    """Answers the request on stdin."""
    request = json.loads(sys.stdin.buffer.read())
    answer = measured(request["text"], Path(request["path"]), Path(request["data"]), request.get("opened", {}))
    sys.stdout.buffer.write(json.dumps(answer).encode())


def measured(text: str, path: Path, data: Path, opened: Mapping[str, str]) -> dict[str, Any]:
    """states: of each variable.   cliques: states, entries and weights by the clique's label.   problem: what stopped.

    opened: texts of files that the editor has not saved.
    """
    answer: dict[str, Any] = {"states": {}, "cliques": {}, "problem": ""}
    resolved = load_text(
        text, str(path), directory=path.parent, path=path,
        reading=lambda used: opened.get(str(used.resolve())) or read_template(used),
    )  # fmt: skip
    spec = resolved.spec
    try:
        if spec.data is None:
            return answer
        from ..data import learn_states, read_corpus, variable_states

        corpus = read_corpus(data, spec.data, required=[label.name for label in spec.labels])
        states = learn_states(spec, corpus, resolved.directories)
        answer["states"] = {name: list(listed) for name, listed in states.items()}
        if any(one.severity == "error" for one in check(resolved, corpus=corpus)):
            return answer | {"problem": "the template has errors"}
        states = variable_states(spec, states, resolved.directories)
        answer["states"] = {name: list(listed) for name, listed in states.items()}
        from ..training import assemble

        problem = assemble(spec, corpus, resolved.directories, {})
        parameters, _ = problem.learn_parameters()
        weights = [len(one.bias) + len(one.entry) for one in parameters.cliques]
        for clique, shape, count in zip(spec.cliques, problem.graph.templates, weights, strict=False):
            answer["cliques"][clique.label] = [*_size(clique, shape), count]
    except (DcrfError, MemoryError) as error:
        answer["problem"] = render_all(error.diagnostics) if isinstance(error, DcrfError) else "the memory is too small"
    return answer


def _size(clique: Any, shape: Any) -> tuple[str, int | None]:
    """The states of the sites, START and STOP among them where they are used, and the entries of the table."""
    if shape.segments is not None:
        return f"{shape.segments.named:,} × {shape.segments.limit} tokens", None
    beyond = 2 if clique.edges == "pad" else 0
    cards = [int(card) + beyond for card in shape.weight_cards]
    return " × ".join(f"{card:,}" for card in cards), math.prod(cards)
