"""Highlighters: the words of the grammar, files that are made of the table, and every template without an error token.

The kinds of words are compared with the tokens of the parser's own lexer, which shares no pattern with the table.
"""

from __future__ import annotations

import ctypes
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from helpers import LANGUAGE, ROOT, example_modules, items
from lark import TextSlice, Token
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Error

from dcrfdsl.foundation import Source
from dcrfdsl.syntax import KEYWORDS, DcrfLexer, highlighted
from dcrfdsl.syntax.highlighting import _TOKENS
from dcrfdsl.syntax.lexing import parser
from dcrfdsl.syntax.split import split_statements
from dcrfdsl.syntax.vocabulary import CLAUSE_WORDS, CONSTANT_WORDS, METHOD_WORDS, NAMING_WORDS, OPERATOR_WORDS

EDITORS = ROOT / "grammar" / "editors"
(GENERATE,) = example_modules(EDITORS, "generate")
TEMPLATES = sorted(
    [*(ROOT / "templates").glob("*.dcrf"), *(ROOT / "examples").glob("*/*.dcrf"), *LANGUAGE.glob("good/*/*.dcrf")]
)
TEXTS = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in TEMPLATES}
TEXTS |= {f"identity: {title}": text for title, text in items(LANGUAGE / "identity.dcrfs")}
TEXTS["blanks"] = """\
data conll( word , täg )
clique täg[ i ] , täg[ j - 1 ] as far :
    where word[ i + 1 ] = word[j] or lower( word )[ i ] is not A/B-c and täg [j] not in { Ä , "b c",
        d }   # of two lines
    word[ -2 .. 2 ] & word has /[/#"]x\\/{1,2}/i , täg is notable , word is not "#"
let rate = 1e-3 tune log( 1.5e-4 , .5 )
train likelihood:
    decode = joint , prior.far = gaussian( variance = inf )
"""
KIND_OF = {token: kind for kind, token in _TOKENS.items()}
NAMES = {"name", "function", "declared", "constant", "clause"}
# Terminals of the grammar -> the kinds that their text may have. Words of clauses may be names where they cannot begin
# a clause, and then they look like words of a clause.
KINDS: Mapping[str, set[str]] = {
    "NAME": NAMES, "STATE": {"state"}, "INT": {"number"}, "FLOAT": {"number"}, "DIGITS": {"number"},
    "SIGN": {"number", "operator"}, "STRING": {"string"}, "REGEX": {"regex"}, "COMPARES": {"operator"},
    "DIFFERS": {"operator"}, "RANGE": {"operator"}, "_LESS": {"operator", "number"}, "EQUAL": {"operator"},
    "COMMENT": {"comment", "doc"},
}  # fmt: skip


def kinds(text: str) -> list[str]:
    """The kind of each character, by Pygments."""
    return [KIND_OF[token] for token, part in DcrfLexer(stripnl=False, ensurenl=False).get_tokens(text) for _ in part]


def lexed(text: str) -> Iterator[Token]:
    """The tokens of the statements of a text, by the parser."""
    for chunk in split_statements(Source("<text>", text), text)[0]:
        run = parser().parse_interactive(TextSlice(text, chunk.start, chunk.end))
        yield from run.iter_parse()


# the table ------------------------------------------------------------------------------------------------------------


def test_the_words_are_those_of_the_grammar() -> None:
    grammar = re.sub(r"//.*", "", (ROOT / "grammar" / "dcrf.lark").read_text(encoding="utf-8"))
    assert set(re.findall(r'"([a-z]+)"', grammar)) == {*KEYWORDS, *CLAUSE_WORDS, *OPERATOR_WORDS}
    assert {*NAMING_WORDS, *METHOD_WORDS} < set(KEYWORDS)
    assert not set(CONSTANT_WORDS) & {*KEYWORDS, *CLAUSE_WORDS, *OPERATOR_WORDS}


def test_the_files_of_editors_are_what_the_table_makes() -> None:
    done = subprocess.run([sys.executable, EDITORS / "generate.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\nrun python grammar/editors/generate.py"


# Pygments -----------------------------------------------------------------------------------------------------------


def test_pygments_knows_every_word() -> None:
    for title, text in TEXTS.items():
        tokens = list(DcrfLexer(stripnl=False, ensurenl=False).get_tokens(text))
        assert [part for kind, part in tokens if kind is Error] == [], title
        assert "".join(part for _, part in tokens) == text, title


def test_a_word_has_the_kind_that_it_has_for_the_parser() -> None:
    found = {title: kinds(text) for title, text in TEXTS.items()}
    for title, text, token in ((name, whole, token) for name, whole in TEXTS.items() for token in lexed(whole)):
        if token.start_pos is None or token.end_pos is None or (token.type.startswith("_") and token.type != "_LESS"):
            continue
        word = text[token.start_pos : token.end_pos]
        expected = KINDS.get(token.type)
        if expected is None and word.isalpha():
            statement = word in KEYWORDS and (token.start_pos == 0 or text[token.start_pos - 1] == "\n")
            expected = {"statement"} if statement else {"clause", "operator word"}
        kind = set(found[title][token.start_pos : token.end_pos])
        line = text.count("\n", 0, token.start_pos) + 1
        assert kind <= (expected or {"punctuation", "operator"}), (title, line, token.type, word)


def test_what_no_template_has_is_an_error() -> None:
    for text in ("label y in {A\n", "clique y: \x00\n", "clique y: word ; tag\n", 'lexicon a = "b\n'):
        tokens = list(DcrfLexer().get_tokens(text))
        assert "".join(part for _, part in tokens) == text
        assert any(kind is Error for kind, _ in tokens) == ("{" not in text)


def test_the_lexer_is_found_by_name_and_by_file_and_makes_html() -> None:
    assert isinstance(get_lexer_by_name("dcrf"), DcrfLexer) and isinstance(get_lexer_for_filename("a.dcrf"), DcrfLexer)
    html = highlighted("label tag in {A-<b>}\nclique tag: tag is A-B\n")
    assert '<span class="t-kd">label</span>' in html and '<span class="t-no">A-&lt;b&gt;</span>' in html


# TextMate: an interpreter of the rules that our grammar uses, by Python's regular expressions -------------------------


def text_mate(text: str) -> list[str]:
    """The name of each character's innermost scope; "" for what has none."""
    grammar = json.loads((EDITORS / "vscode" / "syntaxes" / "dcrf.tmLanguage.json").read_text(encoding="utf-8"))
    repository = grammar["repository"]
    stack: list[dict[str, Any]] = [repository["root"]]
    scopes: list[str] = []
    for line in text.splitlines(keepends=True):
        names, at = [""] * len(line), 0
        while at < len(line):
            best = None
            end = re.compile(stack[-1]["end"]).search(line, at) if "end" in stack[-1] else None
            candidates = [(end, None)] if end else []
            patterns = stack[-1]["patterns"]
            if patterns and "include" in patterns[0]:
                patterns = repository[patterns[0]["include"].removeprefix("#")]["patterns"]
            for rule in patterns:
                match = re.compile(rule.get("match", rule.get("begin"))).search(line, at)
                if match:
                    candidates.append((match, rule))
            best = min(candidates, key=lambda each: each[0].start(), default=None)
            if best is None:
                break
            match, rule = best
            captures = {"0": rule} if rule and "name" in rule else (rule or {}).get("captures", {})
            if rule is None:
                captures = stack.pop()["endCaptures"]
            elif "begin" in rule:
                captures = rule["beginCaptures"]
                stack.append(rule)
            for group, scope in captures.items():
                for n in range(*match.span(int(group))):
                    names[n] = scope["name"]
            at = max(match.end(), at + (match.end() == match.start()))
        scopes += names
    return scopes


def test_text_mate_is_as_pygments() -> None:
    for title, text in TEXTS.items():
        found = text_mate(text)
        assert not [scope for scope in found if scope.startswith("invalid")], title
        expected = ["" if kind == "blank" else f"{GENERATE.SCOPES[kind]}.dcrf" for kind in kinds(text)]
        assert ["" if char.isspace() else scope for char, scope in zip(text, found, strict=True)] == [
            "" if char.isspace() else scope for char, scope in zip(text, expected, strict=True)
        ], title


PROGRAM = """
const { Registry, parseRawGrammar, INITIAL } = require("vscode-textmate");
const oniguruma = require("vscode-oniguruma");
const fs = require("fs"), path = require("path");
async function main() {
  const wasm = fs.readFileSync(path.join(path.dirname(require.resolve("vscode-oniguruma")), "onig.wasm"));
  await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
  const onigLib = Promise.resolve({
    createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
    createOnigString: (text) => new oniguruma.OnigString(text),
  });
  const source = process.argv[2];
  const loadGrammar = async () => parseRawGrammar(fs.readFileSync(source, "utf8"), source);
  const grammar = await new Registry({ onigLib, loadGrammar }).loadGrammar("source.dcrf");
  const result = {};
  for (const [title, text] of Object.entries(JSON.parse(fs.readFileSync(0, "utf8")))) {
    let stack = INITIAL;
    result[title] = text.split("\\n").map((line) => {
      const done = grammar.tokenizeLine(line, stack);
      stack = done.ruleStack;
      return done.tokens.map((token) => [line.slice(token.startIndex, token.endIndex), token.scopes.at(-1)]);
    });
  }
  process.stdout.write(JSON.stringify(result));
}
main();
"""


@pytest.mark.long
def test_the_engine_of_vs_code_reads_every_template_as_pygments_does(tmp_path: Path) -> None:
    """Needs Node, and on its `NODE_PATH` the packages vscode-textmate and vscode-oniguruma."""
    if shutil.which("node") is None:
        pytest.skip("needs Node")
    probe = "require('vscode-textmate'); require('vscode-oniguruma')"
    if subprocess.run(["node", "-e", probe], capture_output=True).returncode:
        pytest.skip("needs the packages vscode-textmate and vscode-oniguruma on NODE_PATH")
    program = tmp_path / "tokens.js"
    program.write_text(PROGRAM, encoding="utf-8")
    grammar = EDITORS / "vscode" / "syntaxes" / "dcrf.tmLanguage.json"
    done = subprocess.run(
        ["node", program, grammar], input=json.dumps(TEXTS), capture_output=True, text=True, check=True
    )
    for title, lines in json.loads(done.stdout).items():
        found = [(char, scope) for line in lines for part, scope in line for char in part if not char.isspace()]
        expected = [
            (char, f"{GENERATE.SCOPES[kind]}.dcrf")
            for char, kind in zip(TEXTS[title], kinds(TEXTS[title]), strict=True)
            if not char.isspace()
        ]
        assert found == expected, title


# Vim ----------------------------------------------------------------------------------------------------------------

# Groups that differ from the kinds of the table by name.
VIM_KINDS = {"Method": "function", "Comma": "punctuation", "OperatorWord": "operator word"}
SCRIPT = """
set nocompatible encoding=utf-8
let &runtimepath = $DCRF_VIM . ',' . &runtimepath
filetype plugin on
syntax on
for name in split(glob($DCRF_FILES . '/*.dcrf'), "\\n")
  execute 'edit' fnameescape(name)
  let out = [&filetype]
  for row in range(1, line('$'))
    let groups = []
    for col in range(1, col([row, '$']) - 1)
      call add(groups, synIDattr(synID(row, col, 1), 'name'))
    endfor
    call add(out, join(groups))
  endfor
  call writefile(out, name . '.groups')
endfor
qall!
"""


@pytest.mark.long
def test_vim_colours_every_template_as_pygments_does(tmp_path: Path) -> None:
    if shutil.which("vim") is None:
        pytest.skip("needs Vim")
    texts = {f"{n}.dcrf": text for n, (title, text) in enumerate(TEXTS.items())}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    script = tmp_path / "groups.vim"
    script.write_text(SCRIPT, encoding="utf-8")
    environment = {"DCRF_VIM": str(EDITORS / "vim"), "DCRF_FILES": str(tmp_path), "HOME": str(tmp_path)}
    subprocess.run(
        ["vim", "-es", "-u", "NONE", "-S", script], env={**environment, "PATH": "/usr/bin:/bin"}, timeout=300,
        stdin=subprocess.DEVNULL, capture_output=True,
    )  # fmt: skip
    for name, text in texts.items():
        filetype, *rows = (tmp_path / f"{name}.groups").read_text(encoding="utf-8").splitlines()
        assert filetype == "dcrf"
        expected = iter(kinds(text))
        for row, line in zip(rows, text.split("\n"), strict=False):
            groups = row.split(" ") if row else []
            column = 0
            for char in line:
                kind = next(expected)
                if not char.isspace():
                    group = groups[column].removeprefix("dcrf")
                    assert VIM_KINDS.get(group, group.lower()) == kind, (list(TEXTS)[int(Path(name).stem)], line, char)
                column += len(char.encode())
            next(expected, None)  # the line end


# VS Code ------------------------------------------------------------------------------------------------------------


def test_the_extension_has_the_files_that_it_names() -> None:
    folder = EDITORS / "vscode"
    package = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    (language,), (grammar,) = package["contributes"]["languages"], package["contributes"]["grammars"]
    for path in (package["main"], language["configuration"], grammar["path"]):
        assert (folder / path).is_file(), path
    made = json.loads((folder / grammar["path"]).read_text(encoding="utf-8"))
    assert made["scopeName"] == grammar["scopeName"] and language["id"] == grammar["language"] == "dcrf"
    json.loads((folder / language["configuration"]).read_text(encoding="utf-8"))
    script = (folder / package["main"]).read_text(encoding="utf-8")
    assert set(re.findall(r'getConfiguration\("(\w+)"\)', script)) == {"dcrf"}
    assert "dcrf.command" in package["contributes"]["configuration"]["properties"]
    assert [one["command"] for one in package["contributes"]["commands"]] == ["dcrf.restart"]


# tree-sitter --------------------------------------------------------------------------------------------------------

TREE_SITTER = EDITORS / "tree-sitter"
CAPTURES: Mapping[str, set[str]] = {
    "keyword": {"statement"}, "keyword.modifier": {"clause"}, "keyword.operator": {"operator word"},
    **dict.fromkeys(("variable", "property", "variable.parameter", "type", "function", "constant.builtin"), NAMES),
    "constant": {"state"}, "string": {"string"}, "string.regexp": {"regex"}, "number": {"number"},
    "comment": {"comment"}, "comment.documentation": {"doc"}, "operator": {"operator"},
    "punctuation.bracket": {"punctuation"}, "punctuation.delimiter": {"punctuation"},
}  # fmt: skip


def test_the_words_of_tree_sitter_are_those_of_the_grammar() -> None:
    grammar = re.sub(r"//.*", "", (TREE_SITTER / "grammar.js").read_text(encoding="utf-8"))
    rules = re.sub(r'(name: "|field\(")\w+"', "", grammar.partition("rules:")[2])
    assert set(re.findall(r'"([a-z]+)"', rules)) == {*KEYWORDS, *CLAUSE_WORDS, *OPERATOR_WORDS}


@pytest.fixture(scope="module")
def language(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The grammar, generated, compiled and loaded. Needs the command `tree-sitter`, a C compiler and py-tree-sitter."""
    package = pytest.importorskip("tree_sitter", reason="needs the package tree-sitter")
    command, compiler = shutil.which("tree-sitter"), shutil.which("cc")
    if command is None or compiler is None:
        pytest.skip("needs the command tree-sitter and a C compiler")
    folder = tmp_path_factory.mktemp("tree") / "dcrf"
    shutil.copytree(TREE_SITTER, folder)
    subprocess.run([command, "generate"], cwd=folder, check=True, capture_output=True)
    sources = ["src/parser.c", "src/scanner.c"]
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-Wall", "-Werror", "-Isrc", "-o", "dcrf.so", *sources], cwd=folder, check=True
    )
    make = ctypes.CDLL(str(folder / "dcrf.so")).tree_sitter_dcrf
    make.restype = ctypes.c_void_p
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return package.Language(capsule(make(), b"tree_sitter.Language", None))


def captures(language: Any, query: str, text: str) -> dict[str, list[Any]]:
    from tree_sitter import Parser, Query, QueryCursor

    tree = Parser(language).parse(text.encode())
    assert not tree.root_node.has_error
    source = (TREE_SITTER / "queries" / query).read_text(encoding="utf-8")
    found: dict[str, list[Any]] = QueryCursor(Query(language, source)).captures(tree.root_node)
    return found


@pytest.mark.long
@pytest.mark.parametrize("title", TEXTS)
def test_tree_sitter_reads_and_colours_every_template(title: str, language: Any) -> None:
    """Without an error node, and each character has one capture, which fits the kind that Pygments gives it."""
    text = TEXTS[title]
    encoded = text.encode()
    names: dict[int, str] = {}
    for name, nodes in captures(language, "highlights.scm", text).items():
        for node in nodes:
            for byte in range(node.start_byte, node.end_byte):
                assert names.setdefault(byte, name) == name, encoded[node.start_byte : node.end_byte]
    at = 0
    for char, kind in zip(text, kinds(text), strict=True):
        if not char.isspace():
            assert kind in CAPTURES[names[at]], (char, encoded[max(0, at - 20) : at + 20])
        at += len(char.encode())


@pytest.mark.long
def test_tree_sitter_folds_and_finds_definitions(language: Any) -> None:
    text = TEXTS["templates/skip_chain.dcrf"]
    folds = [node.text.decode().split()[0] for node in captures(language, "folds.scm", text)["fold"]]
    assert sorted(folds) == ["clique", "clique", "clique", "evaluate", "features", "infer", "train"]
    found = captures(language, "locals.scm", text)
    assert {node.text.decode() for node in found["local.definition"]} == {
        "word", "pos", "ner", "token", "words", "chain", "skip",
    }  # fmt: skip
    assert {"word", "ner", "token"} < {node.text.decode() for node in found["local.reference"]} | {"ner"}


@pytest.mark.long
def test_tree_sitter_keeps_statements_around_a_mistake(language: Any) -> None:
    from tree_sitter import Parser

    text = (
        "label tag in {A, B}\nclique tag[: bias\nfeatures near:\n    word\n    tag & \ntrain likelihood\ninfer exact\n"
    )
    tree = Parser(language).parse(text.encode())
    assert tree.root_node.has_error
    assert {"label", "clique", "features", "infer"} <= {node.type for node in tree.root_node.children}
