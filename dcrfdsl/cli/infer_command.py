"""`dcrfdsl infer`: inference on one factor graph in the UAI format, without a template."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

import click

from .. import graph as graphs, inference, semantics
from ..foundation import dataclass, json_text, spelling_remedy
from .command_files import read_unused_features
from .console import Talk, refuse
from .options import Argument, Features, Json, Option, Quiet, with_options

Task = Literal["mar", "pr", "map"]
# The options that are settings of a method, by the names of the settings.
_SETTINGS = ("tolerance", "max_iterations", "damping", "seed", "samples", "burn_in", "thin")


@dataclass(frozen=True, kw_only=True)
class InferOptions:
    graph: Annotated[str, Argument("FILE.uai")]
    task: Annotated[Task, Option("mar|pr|map")] = "mar"
    method: Annotated[str, Option("M")] = "auto"
    evidence: Annotated[str | None, Option("FILE")] = None
    tolerance: Annotated[float | None, Option("X")] = None
    max_iterations: Annotated[int | None, Option("N")] = None
    damping: Annotated[float | None, Option("X")] = None
    seed: Annotated[int | None, Option("N")] = None
    samples: Annotated[int | None, Option("N")] = None
    burn_in: Annotated[int | None, Option("N")] = None
    thin: Annotated[int | None, Option("N")] = None
    nodes: Annotated[int | None, Option("N", min=1)] = None
    features: Features = None
    as_json: Json = False
    quiet: Quiet = False


@with_options(InferOptions)
def infer(options: InferOptions) -> None:
    """Infer on a factor graph in the UAI format."""
    talk = Talk(options.quiet)
    read_unused_features(options.features, talk, "a factor graph has no features")
    settings = _settings(options, talk)
    graph = graphs.read_uai(options.graph)
    if options.evidence is not None:
        graph = graph.with_evidence(graphs.read_uai_evidence(options.evidence, graph))
    if options.nodes is not None and options.task != "map":
        refuse("idle-nodes", "`--nodes` bounds the score of the best assignment, which `--task map` finds")
    result = inference.infer_graph(graph, options.task, settings)
    bounded = None
    if options.nodes is not None:
        limits = inference.SearchLimits(200, options.nodes)
        bounded = inference.bounded_labelling(graph, limits, result.assignment)
        impossible = (0,) if bounded.labelling is None and bounded.is_best else ()
        status = replace(result.status, approximate=False, not_converged=0, impossible=impossible)
        score = None if bounded.labelling is None else bounded.score
        result = replace(result, status=status, assignment=bounded.labelling, score=score)
    status = result.status
    if status.impossible:
        refuse("no-assignment", f"no assignment of `{options.graph}` is possible: each has potential 0, log Z is -inf")
    if status.damped:
        talk("note: the messages oscillated and were damped")
    if not status.converged and options.method == "gibbs":
        talk(
            "warning: `gibbs` did not converge: its chains do not agree, or potentials of 0 keep single changes from "
            f"likely assignments; a marginal may be off by {status.residual:.1e} after {status.iterations} sweeps; try "
            "--method exact or trp, or more --samples"
        )
    elif not status.converged:
        talk(
            f"warning: `{options.method}` did not converge: what it computes still moves by {status.residual:.1e} "
            f"after {status.iterations} iterations; try --damping 0.5 or more --max-iterations"
        )
    if options.task == "pr":  # messages compute marginals on the way
        result = replace(result, marginals=None)
    print(json_text(_as_json(options, result, bounded)) if options.as_json else _as_text(result, bounded))


def _settings(options: InferOptions, talk: Talk) -> semantics.MethodSettings:
    """The settings of the method: its defaults, replaced by those on the command line.

    A setting that the method does not have (`exact` has no iterations) is ignored with a note, so that one command line
    serves all methods.
    """
    from pydantic import ValidationError

    method = options.method
    chosen = {name: value for name in _SETTINGS if (value := vars(options)[name]) is not None}
    if method not in semantics.INFERENCE:
        remedy = spelling_remedy(semantics.INFERENCE.suggest(method), f"it is one of {', '.join(semantics.INFERENCE)}")
        refuse("unknown-method", f"`{method}` is not an inference method", remedy)
    known = semantics.INFERENCE[method].model_fields
    for name in chosen.keys() - known.keys():
        talk(f"note: `{method}` has no {name.replace('_', ' ')}; it is not used")
    try:
        return semantics.INFERENCE[method](**{name: value for name, value in chosen.items() if name in known})
    except ValidationError as error:
        first = error.errors()[0]
        option = str(first["loc"][0]).replace("_", "-")
        raise click.BadParameter(f"--{option}: {first['msg'].lower()}, found {first['input']}") from None


def _as_json(
    options: InferOptions, result: inference.GraphResult, bounded: inference.BoundedLabelling | None
) -> dict[str, Any]:
    """The object that `infer --json` prints; results that the task does not compute are absent."""
    record = {
        "task": options.task,
        "method": options.method,
        "log_z": result.log_z,
        "marginals": None if result.marginals is None else [marginal.tolist() for marginal in result.marginals],
        "assignment": None if result.assignment is None else result.assignment.tolist(),
        "score": result.score,
        "converged": result.status.converged,
        "iterations": result.status.iterations,
        "residual": result.status.residual,
        "bound": None if bounded is None else bounded.bound,
        "proven": None if bounded is None else bounded.is_best,
        "nodes": None if bounded is None else bounded.nodes,
    }
    return {name: value for name, value in record.items() if value is not None}


def _as_text(result: inference.GraphResult, bounded: inference.BoundedLabelling | None) -> str:
    lines = []
    if result.log_z is not None:
        lines.append(f"log Z {result.log_z:.10g}")
    if result.score is not None:
        lines.append(f"score {result.score:.10g}")
    if result.assignment is not None:
        lines.append("assignment " + " ".join(map(str, result.assignment.tolist())))
    if bounded is not None:
        end = "" if bounded.is_best else f": no proof, a gap of {bounded.gap:.6g} is left"
        proof = "the best, " if bounded.is_best else ""
        lines.append(f"{proof}bound {bounded.bound:.10g} after {bounded.nodes} nodes{end}")
    for v, marginal in enumerate(result.marginals or ()):
        lines.append(f"{v}: " + " ".join(f"{p:.6f}" for p in marginal))
    return "\n".join(lines)
