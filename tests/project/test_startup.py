"""What a fresh process need not wait for: a parser that was built before, libraries that a command does not use."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import pytest

import dcrfdsl.syntax.parser as syntax_parser
from dcrfdsl.cli.console import Talk
from dcrfdsl.cli.inference_notes import announce_compiling
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.inference.methods import exact_method, message_method
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.syntax import lexing
from dcrfdsl.syntax.parser import parse
from dcrfdsl.training.pipeline import fit

TEXT = "data conll(word, y)\nlabel y\nclique y: bias, word[-1..1]\nclique y[-1], y\n"


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that keeps the parser, in an empty folder."""
    path = tmp_path / "parser.cache"
    monkeypatch.setattr(lexing, "cache_path", lambda stem: path)
    return path


def parsed_anew() -> object:
    """The tree by a parser that this process has not made yet."""
    lexing.parser.cache_clear()
    syntax_parser._kept_statement.cache_clear()  # and what it has read
    try:
        return parse(TEXT)
    finally:
        lexing.parser.cache_clear()


def test_a_kept_parser_reads_as_the_one_that_was_built(kept: Path) -> None:
    built = parsed_anew()
    assert kept.stat().st_size > 0
    written = kept.stat().st_mtime_ns
    assert parsed_anew() == built
    assert kept.stat().st_mtime_ns == written  # it was read, not built again


@pytest.mark.long
@pytest.mark.parametrize("content", [b"", b"not a parser\n", b"0" * 64 + b"\n\x80"], ids=["empty", "text", "other"])
def test_a_damaged_file_is_built_anew(kept: Path, content: bytes) -> None:
    expected = parse(TEXT)
    kept.write_bytes(content)
    assert parsed_anew() == expected
    assert kept.stat().st_size > len(content)


def test_a_folder_that_cannot_be_written_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexing, "cache_path", lambda stem: tmp_path / "no" / "such" / "folder")
    assert parsed_anew() == parse(TEXT)


def test_compiling_is_announced_once_and_on_a_terminal_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for terminal in (True, False, True):
        monkeypatch.setattr(sys.stderr, "isatty", lambda terminal=terminal: terminal)
        announce_compiling(Talk(quiet=False))
        for step in (1, 2):
            numba.njit(lambda x, step=step: x + step)(1)
        assert capsys.readouterr().err.count("compiling kernels") == int(terminal)


LOOP = "clique y[-2], y\n"
SELDOM = {"exact_log_expectations", "blocked_expectations", "blocked_decode", "message_log_expectations"}


@pytest.mark.parametrize(
    ("infer", "more", "kernels"),
    [
        ("exact", LOOP, {"exact_expectations", "exact_decode"}),
        ("trp", LOOP, {"message_expectations", "message_decode"}),
    ],
)
def test_kernels_that_short_sentences_do_not_need_are_not_compiled(
    infer: str, more: str, kernels: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those for long sentences, for logarithms and for a search: here any call of them would be one too many."""
    called: set[str] = set()

    def noting(module: ModuleType, name: str) -> Callable[..., None]:
        kernel = getattr(module, name)

        def call(*given: Any) -> None:
            called.add(f"{name}, mending" if given[-1] is True else name)
            kernel(*given)

        return call

    for module in (exact_method, exact_method.sequences, message_method):
        for name in filter(partial(hasattr, module), (*kernels, *SELDOM)):
            monkeypatch.setattr(module, name, noting(module, name))
    resolved = load_text(TEXT + more + f"infer {infer}\ntrain likelihood: optimizer = lbfgs(max_iterations = 2)\n")
    corpus = corpus_from_rows([[("a", "A"), ("b", "B"), ("a", "A")]] * 3, resolved.require().data)
    fit(resolved, corpus).predict(corpus)
    assert called == kernels


OTHERS = {"spacy", "transformers", "torch", "jax", "matplotlib"}  # libraries whose pipelines models stand in


@pytest.mark.parametrize(
    ("module", "unloaded"),
    [
        ("dcrfdsl.cli", {"numpy", "numba", "pydantic", "lark", "rich"}),
        ("dcrfdsl.cli.template_commands, dcrfdsl.syntax", {"numpy", "numba", "pydantic"}),
        ("dcrfdsl.semantics.checks.checker, dcrfdsl.semantics.resolve.resolution", {"numba", "scipy", "networkx"}),
        ("dcrfdsl, dcrfdsl.cli, dcrfdsl.spacy, dcrfdsl.transformers, dcrfdsl.torch, dcrfdsl.jax, dcrfdsl.plot", OTHERS),
        (
            "dcrfdsl.model",
            {"scipy.optimize", "networkx", "sklearn"},
        ),  # numba loads a part of scipy
    ],
)
def test_modules_that_a_room_does_not_need_stay_out(module: str, unloaded: set[str]) -> None:
    program = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert unloaded.isdisjoint(done.stdout.split())


ENGINE = {"numba", "llvmlite", "scipy", "networkx", "pandas", "sklearn", "safetensors", *OTHERS}
LIGHT = {*ENGINE, "numpy", "rich"}
COMMANDS = {
    "--version": {*LIGHT, "lark", "pydantic", "re2"},
    "--help": {*LIGHT, "lark", "pydantic", "re2"},
    "tag --help": {*LIGHT, "lark", "pydantic", "re2"},
    "new linear_chain": {*LIGHT, "lark", "pydantic", "re2"},
    "fmt a.dcrf": {*LIGHT, "pydantic", "re2"},
    "check a.dcrf": LIGHT - {"rich"},
    "check a.dcrf --expand": LIGHT,
    "convert patterns.txt --columns word,y": LIGHT,
    "explain clique": LIGHT,
}


def loaded_by(line: str, folder: Path) -> set[str]:
    """The modules of a fresh process after a command."""
    program = (
        f"import sys; from dcrfdsl.cli import run; code = run({line.split()}); print(*sys.modules, file=sys.stderr); "
        "sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("line", COMMANDS)
def test_libraries_that_a_command_does_not_use_stay_out(line: str, tmp_path: Path) -> None:
    (tmp_path / "a.dcrf").write_text(TEXT)
    (tmp_path / "patterns.txt").write_text("U00:%x[-1,0]\nU01:%x[0,0]\n\nB\n")
    assert COMMANDS[line] & loaded_by(line, tmp_path) == set()


def test_only_the_module_of_the_asked_command_is_loaded(tmp_path: Path) -> None:
    def commands(line: str) -> set[str]:
        return {name for name in loaded_by(line, tmp_path) if name.startswith("dcrfdsl.cli.") and "_command" in name}

    assert commands("--version") == set()
    assert commands("new linear_chain") == {"dcrfdsl.cli.template_commands"}
    assert "dcrfdsl.cli.train_command" in commands("--help")


@pytest.mark.long
def test_kernels_that_are_compiled_load_without_what_compiling_needs(tmp_path: Path) -> None:
    """Numba's implementations of NumPy's functions load SciPy's linear algebra, half a second in all."""
    (tmp_path / "a.dcrf").write_text(TEXT + "train likelihood: optimizer = lbfgs(max_iterations = 2)\n")
    (tmp_path / "data.txt").write_text(100 * "a A\nb B\n\n")  # enough for bundles of features
    lines = ("train a.dcrf data.txt -o a.model --quiet", "tag a.model data.txt")
    for line in lines:
        loaded_by(line, tmp_path)  # may compile
    for line in lines:
        loaded = loaded_by(line, tmp_path)
        assert "numba" in loaded
        needless = {"scipy.linalg", "numba.np.linalg", "numba.np.arraymath", "numba.np.arrayobj", "networkx", "pandas"}
        assert loaded & (needless | OTHERS) == set(), line


def test_every_dependency_has_its_size_and_reason_on_a_page() -> None:
    root = Path(__file__).parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    table = (root / "docs" / "how-to" / "light-runtime.md").read_text(encoding="utf-8").partition("| package |")[2]
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    listed = {re.split(r"[ ,|]", line[2:])[0] for line in rows}
    named = set(re.findall(r"[\w-]+", " ".join(line.split("|")[1] for line in rows)))
    needed = {re.match(r"[\w-]+", line)[0] for line in project["dependencies"]}  # type: ignore[index]
    assert needed <= named and listed - {"dcrfdsl", "sum"} <= needed | {"llvmlite"}
