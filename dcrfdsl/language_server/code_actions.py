"""Changes that an editor offers: remedies of problems as edits, and changes of form that keep the meaning.

A remedy is "did you mean", a word of another tool, what to write instead, or what to remove; it is offered where it
says exactly what to write. Fixes of syntax errors are tried on their statement first. Missing names are declared by a
new statement. A change of form writes a shorthand out as pieces, or takes features into a group. Not here: the problems
(`template_problems`), the layout (`syntax.format`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import count, pairwise
from typing import TypeAlias

from ..foundation import Diagnostic, word_instead
from ..semantics import CRITERIA, PIECES, Resolved, check, expanded
from ..syntax import CliqueSpec, DataSpec, FeatureGroup, Reference, Stage, parse_partial, statement_text
from .answers import CodeAction, Edit
from .template_index import Names, Placed, Template
from .template_problems import Problem

WRITE = re.compile(r"(?:write(?: a plain)?|for instance|in this language:) (?:`([^`]+)`)\Z")
BLANKS = re.compile(r"begin (?:it|each of them) with (\d+) blanks")
FOUND = re.compile(r"`([^`]+)`")


def quick_fixes(template: Template, problem: Problem) -> Iterator[CodeAction]:
    """The fixes of one problem, the likeliest first."""
    for make in (*FIXES, *DECLARING.get(problem.diagnostic.slug, ())):
        yield from make(template, problem)


def _action(template: Template, problem: Problem, title: str, *edits: Edit, preferred: bool = True) -> CodeAction:
    place = problem.start, problem.end
    return CodeAction(title, {template.path: edits}, problem.diagnostic.slug, preferred, place)


def _instead(template: Template, problem: Problem) -> Iterator[CodeAction]:
    """`did you mean`: another word in place of the one that the message quotes."""
    found = word_instead(problem.diagnostic, template.text[problem.start : problem.end])
    if found is not None:
        first, last, new = found
        yield _action(template, problem, f"Write `{new}`", Edit(problem.start + first, problem.start + last, new))


def _write(template: Template, problem: Problem) -> Iterator[CodeAction]:
    """A remedy that is nothing but what to write, in place of what is marked, of its line or of the statement."""
    match = WRITE.fullmatch(problem.diagnostic.help or "")
    placed = template.at(problem.start)
    if match is None or placed is None or "…" in match[1] or placed.facts.statement is not None:
        return
    line_end = template.text.find("\n", problem.start)
    line_end = len(template.text) if line_end < 0 else line_end
    line = placed.start, min(line_end, placed.end)
    for start, end in ((problem.start, problem.end), line, (placed.start, placed.end)):
        edit = Edit(start, end, match[1])
        if _helps(placed, problem, edit):
            yield _action(template, problem, f"Write `{match[1]}`", edit)
            return


def _helps(placed: Placed, problem: Problem, edit: Edit) -> bool:
    """Whether the statement parses after the edit, or at least has other problems."""
    if not placed.start <= edit.start <= edit.end <= placed.end:
        return False
    text, start = placed.facts.text, placed.start
    _, problems = parse_partial(text[: edit.start - start] + edit.text + text[edit.end - start :], "")
    return not problems


def _blanks(template: Template, problem: Problem) -> Iterator[CodeAction]:
    """Lines of a block that are not indented."""
    match = BLANKS.search(problem.diagnostic.help or "")
    one = problem.diagnostic
    if match and one.primary is not None:
        places = {_line_start(template.text, label.span.start) for label in (one.primary, *one.secondary[1:])}
        places.add(_line_start(template.text, problem.start))
        edits = [Edit(place, place, " " * int(match[1])) for place in sorted(places)]
        yield _action(template, problem, f"Indent by {match[1]} blanks", *edits)


def _line_start(text: str, place: int) -> int:
    return text.rfind("\n", 0, place) + 1


def _remove(template: Template, problem: Problem) -> Iterator[CodeAction]:
    if problem.diagnostic.help in ("remove it", "remove the blanks") and problem.start < problem.end:
        yield _action(template, problem, "Remove it", Edit(problem.start, problem.end, ""))


def _tabs(template: Template, problem: Problem) -> Iterator[CodeAction]:
    if problem.diagnostic.slug != "tab":
        return
    whole = template.at(problem.start) or problem
    start, end = _line_start(template.text, whole.start), whole.end
    edits = [
        Edit(start + match.start(), start + match.end(), match[0].replace("\t", "    "))
        for match in re.finditer(r"^[ \t]*\t[ \t]*", template.text[start:end], re.MULTILINE)
    ]
    yield _action(template, problem, "Replace tabs by blanks", *edits)


Fixer: TypeAlias = Callable[[Template, Problem], Iterator[CodeAction]]
FIXES: tuple[Fixer, ...] = (_instead, _write, _blanks, _remove, _tabs)


# declarations that are missing ------------------------------------------------------------------------------------


def _quoted(diagnostic: Diagnostic) -> str:
    match = FOUND.search(diagnostic.message)
    return match[1] if match and re.fullmatch(r"[^\W\d]\w*", match[1]) else ""


def _data(template: Template) -> Placed | None:
    return next((one for one in template.statements if isinstance(one.facts.statement, DataSpec)), None)


def _add_column(template: Template, problem: Problem) -> Iterator[CodeAction]:
    name, placed = _quoted(problem.diagnostic), _data(template)
    if not name or placed is None or not isinstance(placed.facts.statement, DataSpec):
        return
    arguments = placed.facts.statement.written_parts()["call"].arguments
    columns = [one for one in placed.facts.declared if one.kind == "column"]
    owners = [one for one in arguments if any(one.span.start <= c.start < one.span.end for c in columns)]
    for last in (owners or arguments)[-1:]:  # options stay last
        place = placed.start + last.span.end
        edit = Edit(place, place, f", {name}")
        yield _action(template, problem, f"Add the column `{name}` to `data`", edit, preferred=False)


def _add_statement(keyword: str, form: str) -> Fixer:
    """A new statement above the one with the problem."""

    def make(template: Template, problem: Problem) -> Iterator[CodeAction]:
        name, placed = _quoted(problem.diagnostic), template.at(problem.start)
        if not name or placed is None:
            return
        place = _above(template.text, placed.start)
        edit = Edit(place, place, form.format(name) + "\n")
        yield _action(template, problem, f"Declare the {keyword} `{name}`", edit, preferred=False)

    return make


def _above(text: str, place: int) -> int:
    """The beginning of the comments above the line of a place that follow it without a blank line."""
    place = _line_start(text, place)
    while place > 0 and text.startswith("#", _line_start(text, place - 1)):
        place = _line_start(text, place - 1)
    return place


def _add_label(template: Template, problem: Problem) -> Iterator[CodeAction]:
    """For a template without a label: one for the last column."""
    placed = _data(template)
    columns = [one for one in placed.facts.declared if one.kind == "column"] if placed else []
    if placed and columns:
        name = columns[-1].name
        edit = Edit(placed.end, placed.end, f"\nlabel {name}")
        yield _action(template, problem, f"Declare the label `{name}`", edit, preferred=False)


# words of a message -> what declares such a name
BY_KIND: Mapping[str, Fixer] = {
    "column": _add_column,
    "feature group": _add_statement("feature group", "features {0}: bias"),
    "lexicon": _add_statement("lexicon", 'lexicon {0} = "{0}.txt"'),
    "constant": _add_statement("constant", "let {0} = 1"),
}


def _by_kind(template: Template, problem: Problem) -> Iterator[CodeAction]:
    """What a name should be follows from the message: `x` is not a column, feature group or label."""
    message = problem.diagnostic.message.partition("is not")[2]
    for word, make in BY_KIND.items():
        if word in message:
            yield from make(template, problem)


DECLARING: Mapping[str, tuple[Fixer, ...]] = {
    "unknown-name": (_by_kind,), "label-not-a-column": (_add_column,), "no-label": (_add_label,)
}  # fmt: skip


# changes of form ------------------------------------------------------------------------------------------------------


EXPAND = "refactor.rewrite"
EXTRACT = "refactor.extract"


def refactorings(
    template: Template, start: int, end: int, names: Names, resolved: Resolved | None
) -> Iterator[CodeAction]:
    """The changes that are possible for a selection, or at a cursor if `start` is `end`.

    resolved: the model of this text; None while it is not known.
    """
    placed = template.at(start)
    if placed is None:
        return
    yield from _extract(template, placed, start, end, names)
    yield from _expand(template, placed, resolved)


# a group of features ----------------------------------------------------------------------------------------------


def _extract(template: Template, placed: Placed, start: int, end: int, names: Names) -> Iterator[CodeAction]:
    """The selected features of a clique, or all of them if nothing is selected, as a group above it."""
    statement = placed.facts.statement
    if not isinstance(statement, CliqueSpec | FeatureGroup) or not statement.features:
        return
    if isinstance(statement, CliqueSpec) and (statement.segmental or statement.relational):
        return  # their features read segments or positions, which a group does not know
    first, last = start - placed.start, end - placed.start
    places = _items(placed)
    if len(places) != len(statement.features):
        return
    chosen = [n for n, (at, until) in enumerate(places) if until > first and at < last]
    if start == end:
        on_list = places[0][0] <= first <= places[-1][1] and len(places) > 1
        chosen = list(range(len(places))) if on_list else []
    features = [statement.features[n] for n in chosen]
    if not chosen or any(isinstance(one, Reference) and one.name == "bias" for one in features):
        return  # `bias` stands in cliques alone
    if len(chosen) == len(statement.features) and isinstance(statement, FeatureGroup):
        return
    text = placed.facts.text
    spans = places[chosen[0]][0], places[chosen[-1]][1]
    if "#" in text[spans[0] : spans[1]]:
        return
    taken = (any(names.by_name.get((space, f"group{n}")) for space in ("value", "part")) for n in count(1))
    name = f"group{next(n for n, is_taken in enumerate(taken, 1) if not is_taken)}"
    listed = ", ".join(re.sub(r"\s*\n\s*", " ", text[slice(*places[n])]) for n in chosen)
    place = _above(template.text, placed.start)
    edits = (
        Edit(place, place, f"features {name}: {listed}\n"),
        Edit(placed.start + spans[0], placed.start + spans[1], name),
    )
    yield CodeAction(f"Extract the feature group `{name}`", {template.path: edits}, kind=EXTRACT)


def _items(placed: Placed) -> list[tuple[int, int]]:
    """The places of the items of a list, brackets included, which the tree leaves out."""
    found: list[tuple[int, int]] = []
    depth, listed, fresh = 0, False, True
    words = [word for word in placed.facts.words if word.kind != "comment"]
    for before, word in pairwise(words):
        depth += (before.text in "([{") - (before.text in ")]}")
        if depth == 0 and before.text == ":" and not listed:
            listed = True
        elif depth == 0 and "\n" in placed.facts.text[before.end : word.start]:
            fresh = True
        if not listed or (depth == 0 and word.text == ","):
            fresh = True
        elif fresh:
            found.append((word.start, word.end))
            fresh = False
        else:
            found[-1] = found[-1][0], word.end
    return [place for place in found if not re.match(r"(?:where|with)\b", placed.facts.text[place[0] :])]


# a shorthand ------------------------------------------------------------------------------------------------------


def _expand(template: Template, placed: Placed, resolved: Resolved | None) -> Iterator[CodeAction]:
    """`memm` and its like as the pieces that they stand for; as `dcrfdsl check --expand`, in place."""
    statement = placed.facts.statement
    if not isinstance(statement, Stage) or statement.criterion.name not in PIECES:
        return
    has_unnamed = any(one.name is None for one in statement.criterion.arguments)
    if has_unnamed and CRITERIA[statement.criterion.name].names == "pieces":
        return  # `piecewise(a, b)` has its pieces already
    label = statement.label
    if resolved is None or any(one.severity == "error" for one in check(resolved, stage=label, registered=None)):
        return
    spec = expanded(resolved.spec, label)
    known = {piece.name for piece in resolved.spec.pieces}
    pieces = [statement_text(piece) for piece in spec.pieces if piece.name not in known]
    stage = next((one for one in spec.stages if one.label == label), None)
    members = {member.clique for piece in spec.pieces for member in piece.members}
    named = {clique.name for clique in resolved.spec.cliques}
    if stage is None or not pieces or not members <= named:
        return  # a piece names its cliques, so they need names
    text = "\n".join([*pieces, statement_text(stage)])
    edit = Edit(placed.start, placed.end, text)
    yield CodeAction(f"Write out the pieces of `{statement.criterion.name}`", {template.path: (edit,)}, kind=EXPAND)
