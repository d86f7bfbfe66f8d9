"""Remedies of problems as edits: "did you mean", a word of another tool, what to write instead, what to remove.

A fix is offered where the remedy says exactly what to write. Fixes of syntax errors are tried on their statement first.
Missing names are declared by a new statement. Not here: the problems (`template_problems`), changes of what is right
(`template_refactorings`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from ..foundation import Diagnostic, word_instead
from ..syntax import DataSpec, parse_partial
from .answers import CodeAction, Edit
from .template_index import Placed, Template
from .template_problems import Problem

WRITE = re.compile(r"(?:write(?: a plain)?|for instance|in this language:) (?:`([^`]+)`)\Z")
BLANKS = re.compile(r"begin (?:it|each of them) with (\d+) blanks")
FOUND = re.compile(r"`([^`]+)`")


def quick_fixes(template: Template, problem: Problem) -> Iterator[CodeAction]:
    """The fixes of one problem, the likeliest first."""
    one = problem.diagnostic
    for make in FIXES:
        yield from make(template, problem)
    for make in DECLARING.get(one.slug, ()):
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
    if match is None or placed is None or "…" in match[1] or placed.facts.complete:
        return
    line_end = template.text.find("\n", problem.start)
    line_end = len(template.text) if line_end < 0 else line_end
    for start, end in ((problem.start, problem.end), (placed.start, min(line_end, placed.end)), (
        placed.start, placed.end
    )):  # fmt: skip
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
    placed = template.at(problem.start)
    if problem.diagnostic.slug != "tab":
        return
    start = placed.start if placed is not None else _line_start(template.text, problem.start)
    end = placed.end if placed is not None else problem.end
    start = _line_start(template.text, start)
    edits = [
        Edit(start + match.start(), start + match.end(), match[0].replace("\t", "    "))
        for match in re.finditer(r"^[ \t]*\t[ \t]*", template.text[start:end], re.MULTILINE)
    ]
    yield _action(template, problem, "Replace tabs by blanks", *edits)


FIXES: tuple[Callable[[Template, Problem], Iterator[CodeAction]], ...] = (_instead, _write, _blanks, _remove, _tabs)


# declarations that are missing ------------------------------------------------------------------------------------


def _quoted(diagnostic: Diagnostic) -> str:
    match = FOUND.search(diagnostic.message)
    return match[1] if match and re.fullmatch(r"[^\W\d]\w*", match[1]) else ""


def _data(template: Template) -> Placed | None:
    found = [one for one in template.statements if isinstance(one.facts.statement, DataSpec)]
    return found[0] if found else None


def _add_column(template: Template, problem: Problem) -> Iterator[CodeAction]:
    name, placed = _quoted(problem.diagnostic), _data(template)
    if not name or placed is None or not isinstance(placed.facts.statement, DataSpec):
        return
    call = placed.facts.statement.written_parts()["call"]
    title = f"Add the column `{name}` to `data`"
    if call.arguments:
        # options stay last
        columns = [one for one in placed.facts.declared if one.kind == "column"]
        owner = [a for a in call.arguments if any(a.span.start <= c.start < a.span.end for c in columns)]
        place = placed.start + (owner[-1] if owner else call.arguments[-1]).span.end
        yield _action(template, problem, title, Edit(place, place, f", {name}"), preferred=False)


def _add_statement(keyword: str, form: str) -> Callable[[Template, Problem], Iterator[CodeAction]]:
    """A new statement above the one with the problem."""

    def make(template: Template, problem: Problem) -> Iterator[CodeAction]:
        name, placed = _quoted(problem.diagnostic), template.at(problem.start)
        if not name or placed is None:
            return
        place = _above(template, placed)
        edit = Edit(place, place, form.format(name) + "\n")
        yield _action(template, problem, f"Declare the {keyword} `{name}`", edit, preferred=False)

    return make


def _above(template: Template, placed: Placed) -> int:
    """The beginning of the comments above a statement that follow it without a blank line."""
    place = _line_start(template.text, placed.start)
    while place > 0:
        line = _line_start(template.text, place - 1)
        if not template.text[line:place].startswith("#"):
            break
        place = line
    return place


def _add_label(template: Template, problem: Problem) -> Iterator[CodeAction]:
    """For a template without a label: one for the last column."""
    placed = _data(template)
    columns = [one for one in placed.facts.declared if one.kind == "column"] if placed else []
    if placed and columns:
        name = columns[-1].name
        edit = Edit(placed.end, placed.end, f"\nlabel {name}")
        yield _action(template, problem, f"Declare the label `{name}`", edit, preferred=False)


_LEXICON = _add_statement("lexicon", 'lexicon {0} = "{0}.txt"')
_GROUP = _add_statement("feature group", "features {0}: bias")
_CONSTANT = _add_statement("constant", "let {0} = 1")


def _by_kind(template: Template, problem: Problem) -> Iterator[CodeAction]:
    """What a name should be follows from the message: `x` is not a column, feature group or label."""
    message = problem.diagnostic.message.partition("is not")[2]
    for word, make in (("column", _add_column), ("feature group", _GROUP), ("lexicon", _LEXICON), (
        "constant", _CONSTANT
    )):  # fmt: skip
        if word in message:
            yield from make(template, problem)


DECLARING: Mapping[str, tuple[Callable[[Template, Problem], Iterator[CodeAction]], ...]] = {
    "unknown-name": (_by_kind,),
    "label-not-a-column": (_add_column,),
    "no-label": (_add_label,),
}
