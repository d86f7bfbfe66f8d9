"""Every command and option says what it does and stands in an example, and every example runs as it is written."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import shlex
import shutil
from pathlib import Path

import pytest
from helpers import ROOT, example_modules

from dcrfdsl import Checkpoint, fit, load_template, read_corpus
from dcrfdsl.cli import COMMANDS, run
from dcrfdsl.cli.command_reference import described_command
from dcrfdsl.cli.command_table import command_help
from dcrfdsl.cli.schema_command import json_schema
from dcrfdsl.optimizers.objective import Iteration

(PAGES,) = example_modules(ROOT / "docs" / "_ext", "command_pages")

CHUNK = """\
dcrf 1
data conll(word, chunk)
label chunk
let spread = 10 tune log(1, 100)
clique chunk as words: bias, word
clique chunk[-1], chunk as chain
train pseudolikelihood as start: prior = gaussian(variance = spread)
train likelihood after start: prior = gaussian(variance = spread)
"""
BASE = "data conll(word, chunk)\nlabel chunk\nclique chunk as words: bias, word\nclique chunk[-1], chunk as chain\n"
TEXT = "the B\nold I\ndog I\nbarks O\n\nthe B\ncat I\nsaw O\na B\ndog I\n"
# what the examples read; the models are trained on it
FILES = {
    "chunk.dcrf": CHUNK,
    "memm.dcrf": BASE + "train memm\n",
    "boosted.dcrf": BASE + "train adaboost(rounds = 5)\n",
    "few.dcrf": BASE + "expect chunk is O with share = 0.3\n",
    "shapes.dcrf": "data conll(word, chunk)\nlabel chunk\nclique chunk: bias, shape_of(word)\n",
    "templates/own.dcrf": CHUNK,
    "shapes.py": "import dcrfdsl\n\n\n@dcrfdsl.feature\ndef shape_of(word):\n    return word[:1]\n",
    "train.txt": TEXT + "\na B\ndog I\n",
    "more.txt": TEXT + "\nthe B\ncow I\nmoos O\n",
    # with a label in either half that no model would give, as a temperature is found where models err
    "dev.txt": TEXT.replace("barks O", "barks I") + "\n" + TEXT.replace("saw O", "saw B"),
    "test.txt": "the\ncat\nbarks\n\na\ndog\n",
    "gold.txt": TEXT,
    "partly-tagged.txt": "the _\ncat I\nbarks _\n",
    "template": "# unigrams\nU00:%x[-1,0]\nU01:%x[0,0]/%x[0,1]\n\nB\n",
    "patterns.txt": "u:word=%x[0,0]\nb:\n",
    "grmm.txt": "new ACRF.BigramTemplate (0)\nnew ACRF.PairwiseFactorTemplate (0,1)\n",
    "crf.py": "CRF(c1=0.1, c2=0.1)\n",
    "iob1.txt": "Ann I-PER\nruns O\n",
    "names.dcrf": "data conll(word, ner)\nlabel ner in bio(PER)\nclique ner: bias, word\n",
    "names.txt": "Ann B-PER\nruns O\n",
    "scored.dcrf": "data jsonl(logits: scores(ner), ner)\nlabel ner in bio(PER)\nclique ner: offset(logits)\n",
    "train.csv": "word,chunk\nthe,B\ndog,I\n",
    "upos.dcrf": "data conllu(word = form, upos)\nlabel upos\nclique upos: bias, word\n",
    "gold.conllu": "1\tit\t_\tPRON\t_\t_\t_\t_\t_\t_\n2\truns\t_\tVERB\t_\t_\t_\t_\t_\t_\n\n",
    "grid.uai": "MARKOV\n2\n2 2\n2\n1 0\n2 0 1\n2\n1 2\n4\n1 2 3 1\n",
    "grid.uai.evid": "1\n1 0\n",
}
MODELS = {
    "chunk": "train.txt",
    "boosted": "train.txt",
    "shapes": "train.txt --features shapes.py",
    "upos": "gold.conllu",
    "names": "names.txt",
    "scored": "",  # it learns nothing
}
EXAMPLES = [
    (name, line) for name in COMMANDS for line in (*described_command(name).examples, *described_command(name).more)
]
# the part of a shell that examples use
SHELL = re.compile(r"(?:cat (?P<read>\S+) \| )?(?P<call>dcrfdsl [^<>|]*)(?:< (?P<input>\S+))?(?:> (?P<output>\S+))?"
                   r"(?:\| head -n 1)?")  # fmt: skip


def break_off(template: str, data: str, checkpoint: str) -> None:
    """Breaks off a training in its third iteration."""

    def stop(step: Iteration) -> None:
        if step.iteration == 3:
            raise InterruptedError

    resolved = load_template(template)
    with contextlib.suppress(InterruptedError):
        corpus = read_corpus(data, resolved.require().data)
        fit(resolved, corpus, on_iteration=stop, checkpoint=Checkpoint(checkpoint, seconds=0.0))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all that the examples read."""
    folder = tmp_path_factory.mktemp("examples")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    with contextlib.chdir(folder):
        for name, data in MODELS.items():
            assert run(shlex.split(f"train {name}.dcrf {data} -o {name}.model --quiet")) == 0
        decided = "calibrate chunk.model dev.txt -o careful.model --cover 0.5 --of tokens --precision B=0.5"
        assert run(shlex.split(decided)) == 0
        break_off("chunk.dcrf", "train.txt", "chunk.model.checkpoint")
        assert run(shlex.split("export chunk.model --format crfsuite -o address.crfsuite --quiet")) == 0
    return folder


@pytest.fixture
def here(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, as the working directory."""
    shutil.copytree(trained, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def case(name: str, line: str) -> object:
    """An example; those of `demo`, which trains two models on a real corpus, are long."""
    return pytest.param(line, id=line, marks=[pytest.mark.long] if name == "demo" else [])


@pytest.mark.parametrize("line", [case(*example) for example in EXAMPLES])
def test_an_example_runs(
    line: str, here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if "demo" in line and importlib.util.find_spec("turkish_treebanks") is None:
        pytest.skip("needs the extra `demo`")
    if ".onnx" in line and importlib.util.find_spec("onnx") is None:
        pytest.skip("needs the extra `onnx`")
    if "--cluster" in line:
        pytest.skip("needs a scheduler")
    if "--workers" in line and importlib.util.find_spec("distributed") is None:
        pytest.skip("needs the extra `dask`")
    shell = SHELL.fullmatch(line)
    assert shell, "write it with what the test knows of a shell, or teach the test"
    _, command, *arguments = shlex.split(shell["call"])
    arguments = [str(path) for word in arguments for path in (sorted(here.glob(word)) if "*" in word else [word])]
    if command == "demo":  # which takes minutes on as many sentences as it has by default
        arguments += ["--sentences", "3"]
    if command == "new":
        (here / "chunk.dcrf").unlink()
    if command == "convert" and "-o" in arguments:  # which overwrites nothing
        (here / arguments[arguments.index("-o") + 1]).unlink(missing_ok=True)
    if command == "eval":  # whose data has labels
        (here / "test.txt").write_text(FILES["gold.txt"])
    with open(shell["read"] or shell["input"] or os.devnull, encoding="utf-8") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        code = run([command, *arguments])
    out, err = capsys.readouterr()
    assert code == 0, err
    assert out or not (shell["output"] or "| head" in line)
    if {"--json", "--format json", "--print spec"} & {*arguments, " ".join(arguments[-2:])}:
        check_output(command, arguments, out)


def check_output(command: str, arguments: list[str], out: str) -> None:
    """Asserts that an output for programs is as its schema says: as a whole, or each of its lines."""
    jsonschema = pytest.importorskip("jsonschema", reason="needs the extra `test`")
    validator = jsonschema.Draft202012Validator(json_schema("model" if "spec" in arguments else command))
    records = [json.loads(out)] if "spec" in arguments else [json.loads(line) for line in out.splitlines()]
    assert records
    for record in records:
        validator.validate(record)


def test_a_command_says_what_it_does() -> None:
    for name in COMMANDS:
        command = described_command(name)
        assert re.match(r"[A-Z].+\.", command.paragraphs[0]), name
        lines = (*command.examples, *command.more)
        assert command.examples and all(line.count(f"dcrfdsl {name}") == 1 for line in lines), name
        for item in (*command.arguments, *command.options):
            assert item.meaning.endswith("."), (name, item.names)


def test_what_is_said_of_options_is_of_options() -> None:
    """No meaning is left over of an option that is gone. What stands above the commands is of several."""
    shared = set.intersection(*(set(said.meanings) for said in command_help().values()))
    everywhere = set[str]()
    for name, said in command_help().items():
        command = described_command(name)
        names = {each for item in (*command.arguments, *command.options) for each in item.names}
        names |= {each.strip("[.]") for each in names}
        everywhere |= names
        own = {meaning.partition("/")[0] for meaning in set(said.meanings) - shared}
        assert own <= {each.partition("/")[0] for each in names}, name
    assert shared <= everywhere


def test_every_option_stands_in_an_example() -> None:
    """A pair `--flush`, `--no-flush` stands in two; of `--output`, `-o` one is enough."""
    for name, option in ((one, option) for one in COMMANDS for option in described_command(one).options):
        assert option.examples, f"{option.names[0]} of {name} needs a line in commands.md"
        for opposite in (each for each in option.names if each.startswith("--no-")):
            assert any(opposite in line.split() for line in option.examples), opposite


def test_pages_are_of_commands() -> None:
    assert list(command_help()) == list(COMMANDS)


def test_the_page_has_everything() -> None:
    page = PAGES.commands_page()
    for name in COMMANDS:
        command = described_command(name)
        section = page.partition(f"\n## dcrfdsl {name}\n")[2].partition("\n## ")[0]
        assert f"```text\n{command.usage}\n```" in section
        shown = [each for item in (*command.arguments, *command.options) for each in item.names]
        assert [each for each in shown if f"`{each}".replace("|", "\\|") not in section] == []
        assert [line for line in (*command.examples, *command.more) if line not in section] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_explain_prints_a_command_and_its_options(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = described_command(name)
    assert run(["explain", name]) == 0
    printed = capsys.readouterr().out
    assert f"command {name}\n" in printed and command.usage in " ".join(printed.split())
    assert [line for line in (*command.examples, *command.more) if line not in printed] == []
    names = [each for option in command.options for each in option.names]
    assert run(["explain", *names]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    for option in command.options:
        assert option.meaning in printed and option.examples[0] in printed


@pytest.mark.parametrize(("word", "guess"), [("--treads", "--threads"), ("--jsn=yes", "--json"), ("trian", "train")])
def test_a_misspelt_option_or_command_is_met_with_a_guess(
    word: str, guess: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", word]) == 1
    assert f"did you mean `{guess}`?" in capsys.readouterr().err
