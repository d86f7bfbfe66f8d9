"""A Pygments lexer of templates, for pages, notebooks and terminals: `pygmentize -l dcrf FILE`.

It colours text that is not finished as well, so it reads words, not statements. Not here: the parser (`parser`).
"""

from __future__ import annotations

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

from .vocabulary import KEYWORDS, RESERVED

__all__ = ["DcrfLexer", "highlighted"]

CLAUSE_WORDS = ("as", "with", "over", "where", "when", "after", "initially", "tune", "except")


class DcrfLexer(RegexLexer):
    """Tokens of a `.dcrf` template."""

    name = "dcrf"
    aliases = ("dcrf",)
    filenames = ("*.dcrf",)

    tokens = {
        "root": [
            (r"^##.*$", String.Doc),
            (r"#.*$", Comment.Single),
            (words(KEYWORDS, prefix=r"^", suffix=r"\b"), Keyword.Declaration),
            (r'"(?:\\.|[^"\\\n])*"', String.Double),
            (r"(?<=[\s(])/(?:\\.|[^/\\\n])+/[a-z]*", String.Regex),
            (r"[-+]?(?:\d+\.\d+|\d+)(?:[eE][-+]?\d+)?\b", Number),
            (words((*sorted(RESERVED), *CLAUSE_WORDS), prefix=r"\b", suffix=r"\b"), Operator.Word),
            (words(("yes", "no", "none", "all", "seen"), prefix=r"\b", suffix=r"\b"), Keyword.Constant),
            (r"[^\W\d][\w\-]*(?=\()", Name.Function),
            (r"[^\W\d]\w*", Name),
            (r"\.\.|[=&!<>]+", Operator),
            (r"[\[\](){}:,.;|]", Punctuation),
            (r"\s+", Whitespace),
            (r".", Punctuation),
        ]
    }


def highlighted(text: str) -> str:
    """The text of a template as HTML, escaped; the classes of its tokens begin with `t-`."""
    html: str = highlight(text, DcrfLexer(stripnl=False), HtmlFormatter(nowrap=True, classprefix="t-"))
    return html
