"""The words of the language, the words of other tools and papers for the same things, and odd characters.

Tables for `statement_start_errors` and `hints`. Not here: names of methods, metrics and feature functions.
"""

from __future__ import annotations

import unicodedata

from .nodes import RESERVED as RESERVED
from .statements import KEYWORDS as KEYWORDS, SHAPES

# The term of papers and other tools -> the term of this language.
SYNONYMS = {
    "factor": "clique", "factors": "clique", "edge": "clique", "edges": "clique", "template": "clique",
    "potential": "clique", "unigram": "clique", "bigram": "clique", "transition": "clique", "transitions": "clique",
    "emission": "clique", "pairwise": "clique", "unary": "clique", "chain": "clique", "skip": "clique",
    "connect": "clique", "depends": "clique", "weights": "clique",
    "hidden": "latent", "semimarkov": "segment",
    "variable": "label", "var": "label", "state": "label", "states": "label", "node": "label", "output": "label",
    "outputs": "label", "tag": "label", "tags": "label", "target": "label", "predict": "label", "random": "label",
    "observed": "data", "input": "data", "inputs": "data", "columns": "data", "column": "data", "observe": "data",
    "corpus": "data", "reader": "data", "read": "data",
    "feature": "features", "feats": "features", "attributes": "features", "group": "features", "window": "features",
    "dictionary": "lexicon", "gazetteer": "lexicon", "wordlist": "lexicon", "list": "lexicon",
    "const": "let", "constant": "let", "define": "let", "set": "let", "param": "let", "parameter": "let",
    "include": "use", "import": "use", "from": "use", "extends": "use",
    "history": "memory", "previous": "memory", "map": "view", "coarse": "view",
    "constraint": "require", "constrain": "require", "assert": "require", "must": "require",
    "disallow": "forbid", "exclude": "forbid", "never": "forbid",
    "inference": "infer", "marginals": "infer", "viterbi": "decode", "decoder": "decode", "predictor": "decode",
    "learn": "train", "fit": "train", "training": "train", "optimize": "train", "criterion": "train", "loss": "train",
    "metric": "evaluate", "metrics": "evaluate", "eval": "evaluate", "score": "evaluate", "report": "evaluate",
    "component": "piece", "pid": "piece", "version": "dcrf", "edition": "dcrf", "language": "dcrf",
}  # fmt: skip


# Operators of other languages -> those of this one.
OPERATORS = {
    "==": "=", ":=": "=", "<>": "!=", "=>": ">=", "=<": "<=", "&&": "and", "||": "or", "|": "or", "!": "not",
    "~": "matches", "^": "&",
    "*": "&", "+": "&", "->": ":",
}  # fmt: skip

# Words in place of another word of this language.
WORDS = {
    "contains": "has", "search": "has", "match": "matches", "like": "matches", "equals": "=", "eq": "=", "are": "is",
    "isnt": "is", "named": "as", "called": "as", "using": "with", "given": "where", "such": "where", "when": "where",
    "for": "over", "on": "over", "of": "over", "from": "after", "init": "initially", "initial": "initially",
    "start": "initially", "range": "tune", "if": "when", "provided": "when", "otherwise": "else", "to": "..",
}  # fmt: skip

# The clauses of a statement in their order, by the first words before its parts.
CLAUSES = {keyword: tuple(part.before.split()[0] for part in parts if part.before) for keyword, parts in SHAPES.items()}

LOOKALIKES = {
    "QUOTATION MARK": 'write a plain `"`', "SPACE": "write an ordinary blank", "DASH": "write a plain `-`",
    "MINUS": "write a plain `-`", "ELLIPSIS": "write `..`", "COMMA": "write a plain `,`", "COLON": "write a plain `:`",
    "PARENTHESIS": "write a plain bracket",
}  # fmt: skip


def describe_character(char: str) -> tuple[str, str | None] | None:
    """How to show a character that is not a plain mark, letter or digit, and a replacement if known."""
    if not char or char.isalnum() or (char.isascii() and char.isprintable()):
        return None
    code, name = f"U+{ord(char):04X}", unicodedata.name(char, "CONTROL CHARACTER")
    shown = f"`{char}` ({code}, {name.lower()})" if char.isprintable() else f"{code} ({name.lower()})"
    return shown, next((help for part, help in LOOKALIKES.items() if part in name), None)
