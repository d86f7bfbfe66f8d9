"""Rules on the files that a template names: lexicons and lists of states.

Files are read only as far as a template can be wrong about them: whether they exist, whether a lexicon is a set or a
map, whether its entries can match. Not here: loading them for training (`features`, `data`).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...foundation import Diagnostic
from ..schema import Apply, InLexicon, Lexicon, Path, Reference, StateFile, nodes, reference_names
from .context import Context, Rule
from .walk import every_node


def is_map(context: Context, lexicon: Lexicon) -> bool | None:
    """Whether a lexicon has values; None if its file cannot be read."""
    lines = _lines(context, lexicon)
    if isinstance(lines, str):
        return None
    return next(("\t" in line for line in lines), None)


def missing_lexicon(context: Context) -> Iterator[Diagnostic]:
    for n, lexicon in enumerate(context.spec.lexicons):
        lines = _lines(context, lexicon)
        at: Path = ("lexicons", n, "path")
        if lexicon.name in context.directories and isinstance(lines, str):
            message = f"cannot read the file of lexicon `{lexicon.name}`: {lines}"
            remedy = "the path is relative to the file that declares the lexicon"
            yield context.complaint("missing-lexicon", message, at, "this file", help=remedy)
        elif not isinstance(lines, str) and not lines:
            message = f"the file of lexicon `{lexicon.name}` is empty"
            yield context.complaint("bad-lexicon", message, at, "this file", help="a lexicon has one entry a line")
        elif not isinstance(lines, str) and len({"\t" in line for line in lines}) == 2:
            first = "\t" in lines[0]
            odd = next(line for line in lines if ("\t" in line) != first)
            message = f"lexicon `{lexicon.name}` mixes lines with and without a TAB: `{odd.strip()}`"
            remedy = "a set has one entry a line; a map has an entry, a TAB and a value in every line"
            yield context.complaint("bad-lexicon", message, at, "this file", help=remedy)


def missing_states(context: Context) -> Iterator[Diagnostic]:
    for path, variable in context.variables():
        domain = variable.domain
        if not isinstance(domain, StateFile) or variable.name not in context.directories:
            continue
        lines = context.lines(context.directories[variable.name] / domain.path)
        if not lines or isinstance(lines, str):
            message = f"cannot read the states of `{variable.name}`: {lines or 'the file is empty'}"
            remedy = "the path is relative to the file that declares the variable; the file has one state a line"
            yield context.complaint("missing-states", message, (*path, "domain"), "this file", help=remedy)


def multi_word_entries(context: Context) -> Iterator[Diagnostic]:
    """`word in places` compares a token with whole entries: an entry of several words never matches one."""
    if not _tokens_have_no_spaces(context):
        return
    lexicons = {lexicon.name: n for n, lexicon in enumerate(context.spec.lexicons)}
    uses: dict[str, tuple[Path, str]] = {}
    spanned = {name for name, _ in _spans(context)}
    for path, node in every_node(context.spec):
        match node:
            case InLexicon(lexicon=name, term=Reference(name=column)):
                uses.setdefault(name, ((*path, "lexicon"), column))
            case Apply(function=name, arguments=arguments) if name in lexicons and arguments:
                inner = list(reference_names(nodes(arguments[0].value)))
                uses.setdefault(name, ((*path, "function"), inner[0] if inner else "COLUMN"))
    for name, (path, column) in uses.items():
        if name not in lexicons or name in spanned:
            continue
        lines = _lines(context, context.spec.lexicons[lexicons[name]])
        entries = [] if isinstance(lines, str) else [line.partition("\t")[0].strip() for line in lines]
        several = [entry for entry in entries if len(entry.split()) > 1]
        if several:
            plural = "entries" if len(several) > 1 else "entry"
            example = f"`{several[0]}`" if len(several) == 1 else f"such as `{several[0]}`"
            have = f"{len(several)} {plural} of `{name}` {_have(several)} several words"
            message = f"{have} ({example}) and can never match one token"
            remedy = f"`span({column}, {name})` marks entries of several words"
            where = [(("lexicons", lexicons[name], "path"), f"{len(entries)} entries are read from here")]
            words = "compared with single tokens"
            yield context.complaint(
                "multi-word-entry", message, path, words, help=remedy, others=where, severity="warning"
            )


def _have(entries: list[str]) -> str:
    return "have" if len(entries) > 1 else "has"


def _spans(context: Context) -> Iterator[tuple[str, Path]]:
    """Lexicons whose entries of several words are used by `span`."""
    for path, node in every_node(context.spec):
        if isinstance(node, Apply) and node.function == "span":
            for argument in node.arguments[1:]:
                if isinstance(argument.value, Reference):
                    yield argument.value.name, path


def _tokens_have_no_spaces(context: Context) -> bool:
    data = context.spec.data
    return data is not None and data.format == "conll" and all(option.name != "separator" for option in data.options)


def _lines(context: Context, lexicon: Lexicon) -> tuple[str, ...] | str:
    """The non-blank lines of a lexicon, or why they cannot be read."""
    if lexicon.name not in context.directories:
        return "its directory is not known"
    return context.lines(context.directories[lexicon.name] / lexicon.path)


RULES: tuple[Rule, ...] = (missing_lexicon, missing_states, multi_word_entries)
