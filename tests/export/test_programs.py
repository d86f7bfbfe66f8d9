"""Exported programs where neither `dcrfdsl` nor Numba can be imported: the same bytes as `dcrfdsl tag`."""

from __future__ import annotations

import ast
import functools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dcrfdsl.cli import run
from dcrfdsl.data import corpus_from_rows
from dcrfdsl.export import export_tagger
from dcrfdsl.export.standalone.tagger_command import main
from dcrfdsl.export.tagger_files import single_file
from dcrfdsl.model.trained_model import TrainedModel
from dcrfdsl.semantics.resolve.resolution import load_text
from dcrfdsl.training.pipeline import fit

HIDDEN = ("dcrfdsl", "numba", "lark", "pydantic", "scipy", "re2", "safetensors", "networkx", "click")
# Runs a program as `python FILE ARGUMENTS`, without the modules that it must not need.
ALONE = f"import runpy, sys; sys.modules.update(dict.fromkeys({HIDDEN})); sys.argv = sys.argv[1:]; "
ALONE += "runpy.run_path(sys.argv[0], run_name='__main__')"

MODELS = {
    "chain": "label y\nclique y: word[-1..1], pos\nclique y[-1], y\n",
    "second_order": "label y\nclique y: word, shape(word)[-1..1]\nclique y[-2], y[-1], y\nclique y[-1], y\n",
    "factorial": "label y\nlabel z\nclique y: word\nclique z: pos[-1..1]\nclique y[-1], y\nclique z[-1], z\n"
    "clique y, z\n",
    "memory": "label y\nmemory met = met[-1] or y[-1] is A\nclique y: word, pos\nclique y[-1], y\n"
    "clique y, met: bias, pos\n",
}
GOLD = [
    [("a", "N", "A", "P"), ("b", "V", "B", "Q")],
    [("b", "N", "B", "P"), ("c", "D", "A", "Q"), ("a", "V", "B", "P")],
]
TEXT = "a N\nb V\n\nc D\nunseen N\na V\n\nb\tN\n"


@functools.cache
def trained(body: str, data: str = "conll") -> TrainedModel:
    """A model of GOLD. data: the format, and its options."""
    labels = [line.split()[1] for line in body.splitlines() if line.startswith("label")]
    options = data.partition(" ")[2]
    columns = ", ".join(["word", "pos", *labels, *([options] if options else [])])
    settings = "infer exact\ntrain likelihood: optimizer = lbfgs(max_iterations = 5)\n"
    resolved = load_text(f"data {data.partition(' ')[0]}({columns})\n{body}{settings}")
    rows = [[token[: 2 + len(labels)] for token in sentence] for sentence in GOLD]
    return fit(resolved, corpus_from_rows(rows, resolved.require().data), threads=1)


def program(path: Path, *arguments: str, stdin: bytes = b"", code: int = 0) -> bytes:
    """What an exported program prints."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", ALONE, str(path), *arguments], input=stdin, capture_output=True, cwd=path.parent
    )
    assert done.returncode == code, done.stderr.decode()
    return done.stdout if code == 0 else done.stderr


@pytest.fixture
def printed(capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., bytes]:
    """What a command prints, here `dcrfdsl` or the program of an exported tagger."""

    def command(main: Callable[[list[str]], int], *arguments: object) -> bytes:
        capfdbinary.readouterr()
        assert main([str(argument) for argument in arguments]) == 0
        sys.stdout.flush()
        return capfdbinary.readouterr().out

    return command


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_it_prints_what_tag_prints(name: str, tmp_path: Path, printed: Callable[..., bytes]) -> None:
    model, file = trained(MODELS[name]), tmp_path / "text.txt"
    model.save(tmp_path / "a.model")
    export_tagger(model, tmp_path / "tagger.py")
    file.write_text(TEXT)
    options = ("--marginals",) if name != "chain" else ()
    expected = printed(run, "tag", tmp_path / "a.model", file, *options)
    assert program(tmp_path / "tagger.py", *options, stdin=TEXT.encode()) == expected


# In this process the program is the module of the package.

INPUTS = {
    "windows": ("conll", "a N\r\nb V\r\n\r\nc D\r\n"),
    "no end": ("conll", "a N\nb V"),
    "blank lines": ("conll", "\n\n  \na N\n \t\nb V\n\n\n"),
    "more blanks": ("conll", " a   N  \nb\tV\t\n"),
    "labels are there": ("conll", "a N A\nb V B\n\nc D A\n"),
    "comments": ('conll comment = "#"', "# one\na N\n# two\nb V\n\n# three\n"),
    "tabs": (r'conll separator = "\t"', "a b\tN\n\tV\n\n \t \nc\t\n"),
    "no-break space": ("conll", "a\u00a0b N\nc\u2028d V\n"),
    "controls that are no white space": ("conll", "a\x1c N\nb\x1fc V\n"),
    "mark": ("conll", "\ufeffa N\nb V\n"),
    "lists": ("jsonl", '{"word": ["a", "é"], "pos": ["N", "V"], "other": 1e2}\n\n{"word": [], "pos": []}\n'),
    "half a pair": ("jsonl", '{"word": ["a"], "pos": ["N"], "other": "\\ud800 é"}\n'),
    "tokens": ("jsonl", '[{"word": "a", "pos": "N"}, {"word": "b", "pos": "V"}]\r\n[["a", "N"], ["b", "V"]]'),
}


QUICK = ("windows", "controls that are no white space", "labels are there", "tabs", "lists", "half a pair", "tokens")


@pytest.mark.parametrize("case", [pytest.param(c, marks=() if c in QUICK else pytest.mark.long) for c in INPUTS])
def test_every_kind_of_input(case: str, tmp_path: Path, printed: Callable[..., bytes]) -> None:
    data, text = INPUTS[case]
    model, file = trained(MODELS["factorial" if data == "jsonl" else "chain"], data), tmp_path / "text.txt"
    model.save(tmp_path / "a.model")
    stored = export_tagger(model, tmp_path / "tagger.py").arrays
    file.write_bytes(text.encode())
    for option in ("--quiet", "--json", "--marginals", *(["--given"] if case == "labels are there" else [])):
        expected = printed(run, "tag", tmp_path / "a.model", file, option)
        ours = printed(main, "--model", stored, file, *([option] if option != "--quiet" else []))
        assert ours == expected


def test_marginals_as_json(tmp_path: Path, printed: Callable[..., bytes]) -> None:
    """To the last digits but one."""
    model = trained(MODELS["memory"])
    model.save(tmp_path / "a.model")
    stored = export_tagger(model, tmp_path / "tagger.py").arrays
    (tmp_path / "text.txt").write_text(TEXT)
    options = (tmp_path / "text.txt", "--json", "--marginals")
    expected = printed(run, "tag", tmp_path / "a.model", *options)
    found = printed(main, "--model", stored, *options)
    for line, other in zip(expected.splitlines(), found.splitlines(), strict=True):
        one, two = json.loads(line), json.loads(other)
        rows, others = one.pop("marginals")["y"], two.pop("marginals")["y"]
        assert one == two
        for row, same in zip(rows, others, strict=True):
            assert row == pytest.approx(same, abs=1e-12) and list(row) == list(same)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a N\nb\n", "text.txt:2: 1 column, expected 2 (`word pos`)"),
        ("a\n", "text.txt:1: 1 column, expected 3 (`word pos y`) or 2 (`word pos`)"),
        ("a N\nb \xff\n", "text.txt:2: byte 0xff is not UTF-8"),
        ("a N\nb\0 V\n", "text.txt:2: byte 0x00, so that this is no text"),
    ],
)
def test_bad_input_is_one_message(
    text: str, says: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = export_tagger(trained(MODELS["chain"]), tmp_path / "tagger.py").arrays
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_bytes(text.encode("latin-1"))
    assert main(["--model", str(stored), "text.txt"]) == 1
    assert capfd.readouterr().err == f"error: {says}\n"
    assert main(["--model", str(stored), "no such file"]) == 1
    assert capfd.readouterr().err == "error: `no such file`: no such file or directory\n"


@pytest.mark.parametrize("option", [[], ["--json"], ["--marginals"]])
def test_a_file_without_a_sentence_gives_nothing(
    option: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = export_tagger(trained(MODELS["chain"]), tmp_path / "tagger.py").arrays
    monkeypatch.chdir(tmp_path)
    for name, text in {"a.txt": "a N\n\n", "none.txt": "", "b.txt": "b V\n\n"}.items():
        Path(name).write_text(text)
    assert main(["--model", str(stored), *option, "none.txt"]) == 0
    assert capfd.readouterr().out == ""
    assert main(["--model", str(stored), *option, "a.txt", "none.txt", "b.txt"]) == 0
    among = capfd.readouterr().out
    assert main(["--model", str(stored), *option, "a.txt", "b.txt"]) == 0
    assert capfd.readouterr().out == among


def test_a_program_that_waits_gets_its_answer(tmp_path: Path) -> None:
    """Each sentence is answered at its end, before the next one is sent."""
    export_tagger(trained(MODELS["chain"]), tmp_path / "tagger.py")
    command = [sys.executable, "-I", str(tmp_path / "tagger.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        for sentence in (b"a N\nb V\n\n", b"c D\n\n"):
            process.stdin.write(sentence)
            process.stdin.flush()
            for line in sentence.splitlines():
                assert process.stdout.readline().startswith(line)


def test_a_name_of_a_file_that_is_no_text(tmp_path: Path, printed: Callable[..., bytes]) -> None:
    model, file = trained(MODELS["chain"]), tmp_path / os.fsdecode(b"\xff.txt")
    model.save(tmp_path / "a.model")
    stored = export_tagger(model, tmp_path / "tagger.py").arrays
    file.write_text(TEXT)
    ours = printed(main, "--model", stored, file, "--json")
    assert ours == printed(run, "tag", tmp_path / "a.model", file, "--json")
    assert json.loads(ours.splitlines()[0])["file"] == str(file)


def test_ctrl_c_ends_a_program_without_a_traceback(tmp_path: Path) -> None:
    export_tagger(trained(MODELS["chain"]), tmp_path / "tagger.py")
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    as_in_a_terminal = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    command = [sys.executable, "-I", str(tmp_path / "tagger.py")]
    with subprocess.Popen(command, preexec_fn=as_in_a_terminal, **pipes) as process:  # type: ignore[call-overload]
        process.stdin.write(b"a N\n\n")
        process.stdin.flush()
        assert process.stdout.readline().startswith(b"a N")  # it waits for the next sentence
        process.send_signal(signal.SIGINT)
        assert (process.wait(), process.stderr.read()) == (130, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device /dev/full")
@pytest.mark.parametrize("unbuffered", [(), ("-u",)])
@pytest.mark.parametrize("options", [(), ("--json",), ("--marginals",)])
def test_output_without_a_place_is_one_message(
    options: tuple[str, ...], unbuffered: tuple[str, ...], tmp_path: Path
) -> None:
    export_tagger(trained(MODELS["chain"]), tmp_path / "tagger.py")
    command = [sys.executable, *unbuffered, "-I", str(tmp_path / "tagger.py"), *options]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, input=TEXT.encode(), stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, b"error: the output cannot be written: no space left on device\n")
    for closed, what in ((1, b"stdout"), (0, b"stdin")):
        done = subprocess.run(command, stderr=subprocess.PIPE, preexec_fn=lambda: os.close(closed))  # noqa: B023
        assert (done.returncode, done.stderr) == (1, b"error: %s is closed\n" % what)


@pytest.mark.parametrize("unbuffered", [(), ("-u",)])
def test_pipes_that_do_not_block_lose_nothing(unbuffered: tuple[str, ...], tmp_path: Path) -> None:
    export_tagger(trained(MODELS["chain"]), tmp_path / "tagger.py")
    (reading, writing), (stdin, sending) = os.pipe(), os.pipe()
    os.set_blocking(writing, False)
    os.set_blocking(stdin, False)
    command = [sys.executable, *unbuffered, "-I", str(tmp_path / "tagger.py")]
    text = b"a N\nb V\n\n" * 20_000
    with subprocess.Popen(command, stdin=stdin, stdout=writing) as process:
        os.close(writing)
        os.close(stdin)

        def send() -> None:
            for part in (text[:7], text[7:100], text[100:]):
                time.sleep(1)  # nothing is there to be read
                os.write(sending, part)
            os.close(sending)

        sender = threading.Thread(target=send)
        sender.start()
        got = os.read(reading, 1)
        time.sleep(1)  # the pipe is full by then
        while part := os.read(reading, 65536):
            got += part
        sender.join()
    os.close(reading)
    assert process.returncode == 0 and got.count(b"\n") == text.count(b"\n")


def test_python_imports_it(tmp_path: Path) -> None:
    """Sentences in every form; labels that are known; where its file lies does not matter."""
    model = trained(MODELS["factorial"])
    export_tagger(model, tmp_path / "my_tagger.py")
    code = (
        "import json, sys; from my_tagger import Tagger, TaggerError; t = Tagger()\n"
        "rows = [('a', 'N'), ('b', 'V')]; lists = {'word': ['a', 'b'], 'pos': ['N', 'V']}\n"
        "maps = [dict(word='a', pos='N'), dict(word='b', pos='V')]\n"
        "assert t.tag(rows) == t.tag(lists) == t.tag(maps) == t.tag_all([rows, []])[0]\n"
        "assert t.tag([]) == {'y': [], 'z': []} and t.marginals([])['y'].shape == (0, 2)\n"
        "assert t.tag(rows, given={'y': [None, 'A']})['y'][1] == 'A'\n"
        "try: t.tag(rows, given=['A', 'A']); sys.exit('accepted')\n"
        "except TaggerError as error: assert 'several labels' in str(error)\n"
        "assert t.labels == ('y', 'z') and t.columns == ('word', 'pos') and t.states['z'] == ('P', 'Q')\n"
        "for wrong in ([('a',)], [('a', 1)], {'word': ['a']}, 3, {'word': 'a', 'pos': 'N'}):\n"
        "    try: t.tag(wrong); sys.exit('accepted')\n"
        "    except TaggerError as error: assert '`' in str(error)\n"
        "print('fine')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "fine\n", done.stderr


def test_the_file_reads_as_one() -> None:
    """It imports the standard library and numpy alone, and each of its names once."""
    tree = ast.parse(single_file("About it."))
    modules = {a.name for node in tree.body if isinstance(node, ast.Import) for a in node.names}
    modules |= {node.module for node in tree.body if isinstance(node, ast.ImportFrom) and node.module}
    assert {name.partition(".")[0] for name in modules} - set(sys.stdlib_module_names) == {"numpy"}
    defined = [node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    assert len(set(defined)) == len(defined) > 50
    assert ast.get_docstring(tree) == "About it."
    assert all(ast.get_docstring(node) for node in tree.body if isinstance(node, ast.ClassDef))
