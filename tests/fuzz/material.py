"""The material of mutations: the project's own templates as statements and tokens, odd numbers and characters.

Not here: the mutations (`mutations`), templates drawn from the grammar (`grammar`).
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("templates", "examples", "tests/language/good", "tests/language/bad")
LONGEST = 4000  # characters of a template that is used whole

TOKEN = re.compile(
    r"\s+|\#[^\n]*|\"(?:\\.|[^\"\\\n])*\"|/(?:\\.|[^/\\\n ])+/i?|[^\W\d]\w*|[+-]?\d[\d.]*(?:[eE][+-]?\d+)?|\.\.|!=|."
)

NUMBERS = (
    "0", "1", "-1", "2", "3", "7", "-2", "+3", "00", "007", "1.0", "0.5", ".5", "-.5", "1e-3", "1e3", "1E+2", "0.0",
    "-0.0",
    "1e308", "1e309", "-1e309", "1e-320", "5e-324", "1e999", "0.1e-999", "100", "1000", "1001", "65536", "2147483647",
    "2147483648", "-2147483649", "4294967296", "9223372036854775807", "9223372036854775808", "18446744073709551616",
    "1" + "0" * 30, "9" * 400, "9" * 5000, "0." + "0" * 400 + "1", "1." + "3" * 400, "16777216", "16777217", "33",
    "1e5", "1_000",
    "0x10", "1e", "١٢", "²",
)  # fmt: skip
CHARACTERS = (
    "\t", "\0", "\r", "\r\n", "\n", "\n\n", "\ufeff", "\u2028", "\u2029", "\u0085", "\v", "\f", "\x1b[31m", "\x7f",
    "\x9b",
    "\u202e", "\u200b", "\u0301", "é", "İ", "ı", "ß", "ﬁ", "Σ", "ς", "字", "😀", "\U0010ffff", "\ud7ff", " ", "  ",
    "    ", "\u00a0",
    "\u3000", "'", '"', "`", "\\", "/", "//", "#", "##", ";", "$", "@", "!", "?", "*", "%", "^", "&", "|", "~", "<",
    ">", "=",
    "+", "-", "_", ".", "..", "...", ",", ":", "(", ")", "[", "]", "{", "}", "x", "0",
)  # fmt: skip
PATHS = (
    "", ".", "..", "/", "/dev/null", "days.txt", "towns.txt", "missing.txt", "days.txt/x", "~", "a\\nb", "x" * 300,
    "../" * 40 + "etc", "self.dcrf", "used.dcrf", "\\\\", "\\u0000", "con", "-", "*", "%s", "{}", "days.txt ",
)  # fmt: skip
WORDS = (
    "data", "label", "latent", "memory", "view", "lexicon", "let", "use", "features", "clique", "piece", "forbid",
    "once", "runs", "of", "from", "up", "to", "soft", "source", "covers", "types",
    "expect", "share", "least", "most", "strength",
    "require", "infer", "decode", "train", "evaluate", "dcrf", "in", "is", "not", "and", "or", "if", "else",
    "with", "as", "after", "over", "for", "sentence",
    "where", "when", "tune", "matches", "has", "locked", "initially", "bias", "first", "last", "index", "all",
    "yes", "no",
    "none", "START", "STOP", "bio", "bioes", "bilou", "bmes", "missing", "states", "feats", "conll", "conllu", "jsonl",
    "vector", "float", "int", "bag", "weighted_bag", "crfsuite", "grmm",
    "str", "t", "i", "j", "y", "O", "inf", "nan", "true", "_", "__", "self", "None", "train", "gaussian", "exact",
)  # fmt: skip


def statements_of(text: str) -> list[str]:
    """The statements of a template, each with the lines indented below it, without comments."""
    statements: list[str] = []
    for line in text.split("\n"):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if statements and line[0] in " \t)]}":
            statements[-1] += f"\n{line}"
        else:
            statements.append(line)
    return statements


@dataclass
class Material:
    """templates: whole ones.   statements: by their first word.   expressions, tokens: parts of them."""

    templates: list[str] = field(default_factory=list)
    statements: dict[str, list[str]] = field(default_factory=dict)
    expressions: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)

    @classmethod
    def gathered(cls, room: Path) -> Material:
        """The material of the project's templates; the files that they name are copied into `room`."""
        material = cls()
        for folder in FOLDERS:
            for path in sorted((ROOT / folder).rglob("*")):
                if path.name == "expected.txt" or path.suffix not in (".txt", ".dcrf"):
                    continue
                if path.stat().st_size < 20_000:
                    shutil.copy(path, room / path.name)
                if path.suffix == ".dcrf":
                    material._take(path.read_text(encoding="utf-8"))
        (room / "self.dcrf").write_text('use "self.dcrf"\nlabel y\n', encoding="utf-8")
        material.expressions = sorted(set(material.expressions))
        material.tokens = sorted(set(material.tokens))
        return material

    def _take(self, text: str) -> None:
        statements = statements_of(text)
        if len(text) <= LONGEST:
            self.templates.append(text)
        self.templates.append("\n".join(statements) + "\n")
        for statement in statements:
            word = re.match(r"\w*", statement)
            self.statements.setdefault(word[0] if word else "", []).append(statement)
            self.tokens += [token for token in TOKEN.findall(statement) if not token.isspace()]
            body = statement.partition(":")[2] or statement.partition("=")[2]
            self.expressions += [part.strip() for part in re.split(r",(?![^(\[{]*[)\]}])|\n", body) if part.strip()]
