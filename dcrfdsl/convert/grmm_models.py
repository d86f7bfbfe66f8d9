"""GRMM's model files: a Java constructor a line, each a template of cliques, as cliques of ours.

Every template of GRMM has a weight for each assignment ("default weights") and one for each pair of feature and
assignment that the training data show: two cliques here. `BigramTemplate` reads the features of the earlier token. From
`GenericAcrfTui.java` and `ACRF.java`. Not here: the data, which `data grmm` reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from ..foundation import DcrfError, Diagnostic, Source, Span, dataclass, shortened
from .foreign_patterns import lines_of, remark, wrong
from .template_text import checked_names, fresh_name, listed_statement, template_text

LINE = re.compile(r"(?:new\s+)?(?:\w+\.)*(?P<name>\w+Template\w*)\s*\((?P<levels>[^()]*)\)\s*;?")
MOST_LABELS = 100


@dataclass(frozen=True)
class _Shape:
    """levels: how many labels the constructor names; sites: of the clique over labels of these names; name: of it."""

    levels: int
    sites: Callable[..., str]
    name: Callable[..., str]


SHAPES: Mapping[str, _Shape] = {
    "UnigramTemplate": _Shape(1, lambda y: y, lambda y: y),
    "BigramTemplate": _Shape(1, lambda y: f"{y}, {y}[1]", lambda y: f"{y}_moves"),
    "PairwiseFactorTemplate": _Shape(2, lambda y, z: f"{y}, {z}", lambda y, z: f"{y}_{z}"),
}
REMEDIES: Mapping[str, str] = {
    "SimilarTokensTemplate": "a relational clique joins equal words: `clique y[i], y[j]:` with "
    "`where word[i] = word[j]`; the words need a column of their own",
}


def grmm_template(source: Source, names: Sequence[str] | None, data_labels: int | None) -> tuple[str, list[Diagnostic]]:
    """The template, and a message for each line that is left out.

    names: of the labels, and of the features if there is one more; data_labels: how many labels a line of data has.
    """
    remarks: list[Diagnostic] = []
    found: list[tuple[_Shape, tuple[int, ...], Span]] = []
    for span in lines_of(source):
        text = span.text.partition("//")[0].strip()
        if not text:
            continue
        try:
            found.append((*_shape(text, span), span))
        except DcrfError as error:
            remarks += error.diagnostics
    if not found:
        message = f"`{source.name}` has no line that can be converted"
        raise DcrfError([*remarks, Diagnostic("nothing-converted", message)])
    needed = 1 + max(max(levels) for _, levels, _ in found)
    labels, features, made_up = _names(names, needed, data_labels)
    left_out = [f"line {item.primary.span.line}: {item.primary.span.text}" for item in remarks if item.primary]
    taken = {*labels, features}
    cliques: list[list[str]] = []
    there: dict[str, int] = {}
    for shape, levels, span in found:
        chosen = [labels[level] for level in levels]
        sites, name = shape.sites(*chosen), shape.name(*chosen)
        if sites in there:
            message = f"the template of line {there[sites]} again: its weights are there twice"
            remarks.append(remark("converts-differently", span, message, severity="note"))
        there.setdefault(sites, span.line)
        bias = f"clique {sites} as {fresh_name(f'{name}_bias', taken)}\n"
        moves = listed_statement(f"clique {sites} as {fresh_name(f'{name}_{features}', taken)}", (features,))
        cliques.append([bias, moves])
    remarks.sort(key=lambda item: item.primary.span.start if item.primary else -1)
    data = [f"data grmm({', '.join(labels)}, {features}: bag)\n", *(f"label {label}\n" for label in labels)]
    training = ("# The variance of GRMM.\n", "train likelihood: prior = gaussian(variance = 10)\n")
    headline = "Converted from a model file of GRMM by `dcrfdsl convert`."
    text = template_text(headline, [data, *cliques, training], left_out)
    return text, [*([made_up] if made_up else []), *remarks]


def _shape(text: str, span: Span) -> tuple[_Shape, tuple[int, ...]]:
    match = LINE.fullmatch(text)
    if match is None:
        expected = "a line of GRMM's model file makes a template, `new ACRF.BigramTemplate (0)`"
        raise wrong("bad-foreign-line", span, f"{expected}, found `{shortened(text)}`")
    name = match["name"]
    shape = SHAPES.get(name)
    if shape is None:
        help = REMEDIES.get(name, "write the clique by hand: `clique` takes any sites")
        raise wrong("not-converted", span, f"nothing is known here of GRMM's `{shortened(name)}`", help)
    arguments = [part.strip() for part in match["levels"].split(",")]
    if len(arguments) != shape.levels or not all(re.fullmatch("[0-9]{1,3}", part) for part in arguments):
        plural = "s" * (shape.levels > 1)
        message = f"`{name}` takes the number{plural} of {shape.levels} label{plural}, counted from 0"
        raise wrong("bad-foreign-line", span, message)
    levels = tuple(map(int, arguments))
    if max(levels) >= MOST_LABELS:
        raise wrong("bad-foreign-line", span, f"`{name}` reads label {max(levels)}, and no data have so many")
    if len(set(levels)) < len(levels):
        raise wrong("not-converted", span, f"`{name}` joins label {levels[0]} with itself at one place")
    return shape, levels


def _names(
    names: Sequence[str] | None, needed: int, data_labels: int | None
) -> tuple[tuple[str, ...], str, Diagnostic | None]:
    """The names of the labels, the name of the features, and a note if they are made up."""
    count = max(needed, data_labels or 0)
    if data_labels is not None and data_labels < needed:
        message = f"the templates read {needed} labels, and the data have {data_labels}"
        raise DcrfError(Diagnostic("bad-columns", message))
    if names is None:
        labels = tuple(f"label{n}" for n in range(count))
        message = f"the labels are named {', '.join(labels)}, and the features `marks`"
        help = "`--columns pos,chunk,marks` names them"
        return labels, "marks", Diagnostic("made-up-columns", message, help=help, severity="note")
    checked_names(names)
    if len(names) not in (count, count + 1) and (data_labels is not None or len(names) < needed):
        message = f"there are {count} labels, and {len(names)} names"
        raise DcrfError(Diagnostic("bad-columns", message, help="name the labels, and behind them the features"))
    if len(names) == count:
        return tuple(names), fresh_name("marks", set(names)), None
    return tuple(names[:-1]), names[-1], None
