"""A Pygments lexer of templates, for pages, notebooks and terminals: `pygmentize -l dcrf FILE`.

Not here: what is coloured (`vocabulary`), the parser (`parser`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import RegexLexer, bygroups
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace, _TokenType

from .vocabulary import STATES, TokenRule

_TOKENS: Mapping[str, _TokenType] = {
    "blank": Whitespace,
    "clause": Keyword,
    "comment": Comment.Single,
    "constant": Keyword.Constant,
    "declared": Name.Variable,
    "doc": String.Doc,
    "function": Name.Function,
    "name": Name,
    "number": Number,
    "operator": Operator,
    "operator word": Operator.Word,
    "punctuation": Punctuation,
    "regex": String.Regex,
    "state": Name.Constant,
    "statement": Keyword.Declaration,
    "string": String.Double,
}


def _rule(rule: TokenRule) -> tuple[Any, ...]:
    kinds = [_TOKENS[kind] for kind in rule.kinds]
    action = kinds[0] if len(kinds) == 1 else bygroups(*kinds)
    into = {"": (), "leave": ("#pop",)}.get(rule.into, (rule.into,))
    return rule.pattern, action, *into


class DcrfLexer(RegexLexer):
    """Tokens of a `.dcrf` template."""

    name = "dcrf"
    aliases = ("dcrf",)
    filenames = ("*.dcrf",)
    tokens = {state: [_rule(rule) for rule in rules] for state, rules in STATES.items()}


def highlighted(text: str) -> str:
    """The text of a template as HTML, escaped; the classes of its tokens begin with `t-`."""
    html: str = highlight(text, DcrfLexer(stripnl=False), HtmlFormatter(nowrap=True, classprefix="t-"))
    return html
