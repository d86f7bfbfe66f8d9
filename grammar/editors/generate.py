"""Writes the highlighters of editors from the table of the package: `python grammar/editors/generate.py`.

`--check` writes nothing, and fails where a file is not what the table makes. The table is
`dcrfdsl/syntax/vocabulary.py`; run this after a change of it, or of the words of the language. Not here: what is
coloured, and the grammar of tree-sitter, which is written by hand: a syntax tree needs more than words.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dcrfdsl.syntax.vocabulary import (
    CLAUSE_WORDS,
    CONSTANT_WORDS,
    KEYWORDS,
    METHOD_WORDS,
    NAMING_WORDS,
    OPERATOR_WORDS,
    STATES,
    TokenRule,
)

HERE = Path(__file__).parent

# TextMate: the names that themes give colours.
SCOPES: Mapping[str, str] = {
    "clause": "keyword.control",
    "comment": "comment.line.number-sign",
    "constant": "constant.language",
    "declared": "entity.name.type",
    "doc": "comment.block.documentation",
    "function": "entity.name.function",
    "name": "variable.other",
    "number": "constant.numeric",
    "operator": "keyword.operator",
    "operator word": "keyword.operator.word",
    "punctuation": "punctuation.separator",
    "regex": "string.regexp",
    "state": "constant.other.state",
    "statement": "keyword.declaration",
    "string": "string.quoted.double",
}
# Vim: its own groups.
GROUPS: Mapping[str, str] = {
    "Clause": "Keyword",
    "Comment": "Comment",
    "Constant": "Boolean",
    "Declared": "Identifier",
    "Doc": "SpecialComment",
    "Error": "Error",
    "Function": "Function",
    "Name": "Normal",
    "Number": "Number",
    "Operator": "Operator",
    "OperatorWord": "Operator",
    "Punctuation": "Delimiter",
    "Regex": "String",
    "State": "Constant",
    "Statement": "Statement",
    "String": "String",
}


def text_mate() -> str:
    """The grammar of TextMate, VS Code and others."""
    grammar = {
        "name": "dcrf",
        "scopeName": "source.dcrf",
        "fileTypes": ["dcrf"],
        "patterns": [{"include": "#root"}],
        "repository": {state: {"patterns": list(_patterns(state))} for state in STATES},
    }
    return json.dumps(grammar, indent=2, ensure_ascii=False) + "\n"


def _patterns(state: str) -> Iterable[dict[str, Any]]:
    for rule in STATES[state]:
        if rule.kinds == ("blank",) or rule.into == "leave":
            continue
        yield _enclosed(rule) if rule.into else {"match": rule.pattern} | _named(rule)
    yield {"match": r"\S", "name": "invalid.illegal.dcrf"}


def _enclosed(rule: TokenRule) -> dict[str, Any]:
    """What reaches from a mark to the one that leaves its state."""
    (last,) = (other for other in STATES[rule.into] if other.into == "leave")
    marks = {"beginCaptures": {"0": _scope(rule.kinds[0])}, "endCaptures": {"0": _scope(last.kinds[0])}}
    return {"begin": rule.pattern, "end": last.pattern, **marks, "patterns": [{"include": f"#{rule.into}"}]}


def _named(rule: TokenRule) -> dict[str, Any]:
    if len(rule.kinds) == 1:
        return _scope(rule.kinds[0])
    return {"captures": {str(n): _scope(kind) for n, kind in enumerate(rule.kinds, 1) if kind != "blank"}}


def _scope(kind: str) -> dict[str, str]:
    return {"name": f"{SCOPES[kind]}.dcrf"}


def vim() -> str:
    """The syntax file of Vim. Of matches that begin at one place Vim takes the one defined last."""

    def words(listed: Iterable[str]) -> str:
        return r"\<\%(" + r"\|".join(listed) + r"\)\>"

    state = r'[^][[:space:]{}(),"#:=&]\+'
    number = r"[+-]\?\%(\d*\.\d\+\%([eE][+-]\?\d\+\)\?\|\d\+[eE][+-]\?\d\+\|\d\+\)"
    regex = r"/\%(\\.\|\[\%(\\.\|[^]\\]\)*\]\|[^/\\[]\)\+/i\?"
    matches = [
        ("Error", r"\S", ""),
        ("Punctuation", r"[][():.,]", ""),
        ("Operator", r"\.\.\|!=\|[<>]=\?\|[=&+-]", ""),
        ("Number", number, ""),
        ("Name", r"\%(\d\)\@!\k\+", ""),
        ("Constant", words(CONSTANT_WORDS), ""),
        ("Function", r"\%(\d\)\@!\k\+(\@=", ""),
        ("Clause", words(CLAUSE_WORDS), ""),
        ("OperatorWord", words(OPERATOR_WORDS), ""),
        ("OperatorWord", r"\<is\%(\s\+not\)\?\>", "nextgroup=dcrfState,dcrfString skipwhite"),
        ("Clause", words(["initially"]), "nextgroup=dcrfState,dcrfString skipwhite"),
        ("Clause", words(["as", "after"]), "nextgroup=dcrfDeclared skipwhite"),
        ("Declared", r"\%(\d\)\@!\k\+", "contained"),
        ("Method", r"\%(\d\)\@!\k\+", "contained"),
        ("StrayState", r"[^[:space:],}]", "contained"),
        ("State", state, "contained"),
        ("Regex", regex, ""),
        ("String", r'"\%(\\.\|[^"\\]\)*"', ""),
        ("Statement", rf"^{words(KEYWORDS)}", ""),
        ("Statement", rf"^{words(NAMING_WORDS)}", "nextgroup=dcrfDeclared skipwhite"),
        ("Statement", rf"^{words(METHOD_WORDS)}", "nextgroup=dcrfMethod skipwhite"),
        ("Comment", r"#.*", ""),
        ("Doc", r"^##.*", ""),
        ("Comma", ",", "contained"),
    ]
    lines = [
        '" Vim syntax file of dcrf templates. Made by grammar/editors/generate.py: change that, not this.',
        'if exists("b:current_syntax")',
        "  finish",
        "endif",
        "syn case match",
        "syn spell notoplevel",
    ]
    lines += [f"syn match dcrf{name} ~{pattern}~ {more}".rstrip() for name, pattern, more in matches]
    inside = "contains=dcrfStrayState,dcrfState,dcrfComma,dcrfString,dcrfComment"
    lines.append(f"syn region dcrfStates matchgroup=dcrfPunctuation start=~{{~ end=~}}~ {inside}")
    lines.append("syn sync fromstart")
    links = {**GROUPS, "Method": "Function", "Comma": "Delimiter", "StrayState": "Error"}
    lines += [f"hi def link dcrf{name} {group}" for name, group in sorted(links.items())]
    return "\n".join([*lines, 'let b:current_syntax = "dcrf"']) + "\n"


def tree_sitter() -> str:
    """The query of tree-sitter that colours. No node has two captures, as editors differ in which one wins."""

    def strings(listed: Iterable[str]) -> str:
        return " ".join(json.dumps(word) for word in listed)

    constant = f'"^({"|".join(CONSTANT_WORDS)})$"'
    return f"""\
; Made by grammar/editors/generate.py: change that, not this.
[{strings(KEYWORDS)}] @keyword
[{strings(CLAUSE_WORDS)}] @keyword.modifier
[{strings(OPERATOR_WORDS)}] @keyword.operator

((reference (name) @variable) (#not-match? @variable {constant}))
((reference (name) @constant.builtin) (#match? @constant.builtin {constant}))
(site variable: (name) @variable)
(member clique: (name) @variable)
(position (name) @variable)
(key (name) @property)
(named_argument name: (name) @variable.parameter)
(typed_argument name: (name) @variable.parameter)
(call function: (name) @function)
(apply function: (name) @function)
(as name: (name) @type)
{chr(10).join(f"({word} name: (name) @type)" for word in NAMING_WORDS)}

(state) @constant
(string) @string
(regex) @string.regexp
[(integer) (float)] @number
(comment) @comment
(doc_comment) @comment.documentation

["=" "!=" "<" "<=" ">" ">=" ".." "&" "-" "+"] @operator
["(" ")" "[" "]" "{{" "}}"] @punctuation.bracket
["," ":" "."] @punctuation.delimiter
"""


FILES = {
    "vscode/syntaxes/dcrf.tmLanguage.json": text_mate,
    "vim/syntax/dcrf.vim": vim,
    "tree-sitter/queries/highlights.scm": tree_sitter,
}


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description="Write the highlighters of editors from the table of the package.")
    parser.add_argument("--check", action="store_true", help="Write nothing; exit 1 if a file is not as it would be.")
    check = parser.parse_args().check
    stale = [name for name, make in FILES.items() if _read(HERE / name) != make()]
    for name in stale:
        print(f"{'would change' if check else 'changed'} {name}")
        if not check:
            (HERE / name).write_text(FILES[name](), encoding="utf-8")
    return int(check and bool(stale))


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


if __name__ == "__main__":
    raise SystemExit(main())
