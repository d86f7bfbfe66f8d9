"""`dcrfdsl compile`: after it no command compiles; packs are read where they fit, and refused in words elsewhere."""

from __future__ import annotations

import json
import os
import platform
import random
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from helpers import ROOT

PROGRAM = """
import json, sys
from dcrfdsl.cli import run
codes = [run(line) for line in json.loads(sys.argv[1])]
from dcrfdsl.kernels.runtime.kernel_cache import TAKEN
sys.stderr.write("\\n" + json.dumps(TAKEN))
sys.exit(max(codes))
"""


class Done(NamedTuple):
    out: str
    err: str
    kernels: dict[str, bool]  # file names of kernels that the process has; whether it compiled them


def dcrfdsl(folder: Path, *line: str, code: int = 0, **environment: str) -> Done:
    """A command in a process of its own."""
    return together(folder, [line], code, **environment)


def together(folder: Path, lines: Sequence[Sequence[str]], code: int = 0, **environment: str) -> Done:
    """Commands one after the other in one process; the largest of their exit codes."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(lines)], cwd=folder, env={**os.environ, **environment},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    err, _, kernels = done.stderr.rpartition("\n")
    return Done(done.stdout, err, json.loads(kernels))


# after it nothing is compiled ----------------------------------------------------------------------------------------

ONE = "label y in {A, B, C}\nclique y: bias, word[-1..1]\nclique y[-1], y\n"
TWO = (
    "label y in {A, B, C}\nlabel z in {N, O}\nclique y: bias, word\nclique z: bias, word\nclique y[-1], y\n"
    "clique z[-1], z\nclique y, z\n"
)
TEMPLATES = {
    "chain": f"data conll(word, y)\n{ONE}",
    "chain, states of the data": f"data conll(word, y)\n{ONE}".replace(" in {A, B, C}", ""),
    "second order": f"data conll(word, y)\n{ONE}clique y[-2], y[-1], y\n",
    "factorial": f"data conll(word, y, z)\n{TWO}",
    "factorial by messages": f"data conll(word, y, z)\n{TWO}infer trp\n",
    "skip": f"data conll(word, y)\n{ONE}clique y[i], y[j] as skip:\n    where word[i] = word[j]\ninfer trp\n",
    "segments": "data conll(word, y)\nlabel y in bio(A, B)\nsegment y up to 4: bias, length\nclique y: bias, word\n",
    "errors": f"data conll(word, y)\n{ONE}train likelihood as first\ntrain mce after first: loss = label(y)\n",
    "margins": f"data conll(word, y)\n{ONE}train hmsvm\n",
    "pieces": f"data conll(word, y)\n{ONE}train memm\n",
    "perceptron": f"data conll(word, y)\n{ONE}train perceptron\n",
    "adaboost": f"data conll(word, y)\n{ONE}train adaboost: rounds = 5\n",
    "numbers": f"data csv(word, height: float, y)\n{ONE}clique y: height\n",
    "bags": (
        f"data jsonl(word, tests: bag, weights: weighted_bag, place: vector(3), y)\n{ONE}"
        "clique y: tests, weights, place\n"
    ),
    "treebank": (
        "data conllu(word = form, upos)\nlabel upos in {A, B, C}\nclique upos: word[-1..1], suffix(word, 1..3)\n"
        "clique upos[-1], upos\n"
    ),
    "partly labelled": f"data conll(word, y)\n{ONE}".replace("B, C}", 'B, C} with missing = "_"'),
}


def written(name: str, sentences: int, seed: int) -> str:
    """Data for a template."""
    chance, lines = random.Random(seed), []
    for number in range(sentences):
        rows = []
        for _ in range(chance.randint(1, 40)):
            word, y = f"v{chance.randint(0, 500)}", chance.choice("ABC")
            y = "_" if name == "partly labelled" and chance.random() < 0.1 else y
            y = chance.choice(["B-A", "O"]) if name == "segments" else y
            rows.append((word, y, chance.choice("NO")))
        if name == "bags":
            lines.append(json.dumps([
                {"word": w, "tests": [w, "s"], "weights": {w: 0.5}, "place": [1.0, 0.5, number], "y": y}
                for w, y, _ in rows
            ]))  # fmt: skip
        elif name == "treebank":
            lines += ["\t".join([str(n), w, "_", y, *"______"]) for n, (w, y, _) in enumerate(rows, 1)] + [""]
        elif name == "numbers":
            lines += [
                *([] if lines else ["word,height,y"]),
                *(f"{w},{n / 7},{y}" for n, (w, y, _) in enumerate(rows)),
                "",
            ]
        else:
            lines += [" ".join(row if name.startswith("factorial") else row[:2]) for row in rows] + [""]
    return "\n".join([*lines, ""])


@pytest.mark.long
@pytest.mark.parametrize("name", TEMPLATES)
def test_after_it_training_and_tagging_compile_nothing(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.dcrf").write_text(TEMPLATES[name])
    (tmp_path / "train.txt").write_text(written(name, 400, 1))
    (tmp_path / "test.txt").write_text(written(name, 40, 2))
    data = ["train.txt"] if name == "chain, states of the data" else []
    compiled = dcrfdsl(tmp_path, "compile", "a.dcrf", *data)
    trained = dcrfdsl(tmp_path, "train", "a.dcrf", "train.txt", "-o", "a.model", "--dev", "test.txt", "-q")
    assert trained.kernels.keys() - compiled.kernels.keys() == set()
    assert len(trained.kernels) > 5
    of_model = dcrfdsl(tmp_path, "compile", "a.model")
    lines = [["tag"], ["tag", "--marginals"], ["eval"], ["tag", "--given"]]
    used = together(tmp_path, [[line[0], "a.model", "test.txt", "-q", *line[1:]] for line in lines])
    for made in (compiled, of_model):
        assert used.kernels.keys() - made.kernels.keys() == set()


# kernel packs --------------------------------------------------------------------------------------------------------

MANIFEST = "dcrfdsl-kernels.json"
SMALL = "data conll(word, y)\nlabel y in {A, B}\nclique y: bias\ntrain pseudolikelihood\n"


class Shipped(NamedTuple):
    folder: Path  # with `a.model` and `test.txt`
    pack: Path


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Shipped:
    """A model with its kernels in a pack."""
    folder = tmp_path_factory.mktemp("shipped")
    (folder / "a.dcrf").write_text(SMALL)
    (folder / "test.txt").write_text("v A\nw B\n\nw A\n\n")
    dcrfdsl(folder, "train", "a.dcrf", "test.txt", "-o", "a.model", "-q")
    done = dcrfdsl(folder, "compile", "a.model", "--to", "pack", "--json")
    found, files = json.loads(done.out), sorted((folder / "pack").glob("*.nbc"))
    assert found["folder"] == "pack" and found["kernels"] == len(files) == len(done.kernels) > 3
    assert found["bytes"] == sum(path.stat().st_size for path in files)
    assert {path.name for path in files} == set(done.kernels)
    return Shipped(folder, folder / "pack")


def tag(shipped: Shipped, pack: Path, **environment: str) -> Done:
    """`tag` with a pack and an empty cache, where nothing else is compiled already."""
    own = {"NUMBA_CACHE_DIR": str(shipped.folder / f"cache-{len(list(shipped.folder.iterdir()))}"), **environment}
    done = dcrfdsl(shipped.folder, "tag", "a.model", "test.txt", "-q", DCRFDSL_KERNELS=str(pack), **own)
    assert done.out.startswith("v A A\n")
    return done


@pytest.mark.long
def test_a_pack_is_read_and_never_written(shipped: Shipped) -> None:
    before = {path: path.stat().st_mtime_ns for path in [shipped.pack, *shipped.pack.iterdir()]}
    done = tag(shipped, shipped.pack)
    assert done.kernels and not any(done.kernels.values())
    assert done.err.strip() == ""
    assert before == {path: path.stat().st_mtime_ns for path in [shipped.pack, *shipped.pack.iterdir()]}


@pytest.mark.long
def test_a_pack_serves_a_user_who_may_write_nowhere(shipped: Shipped) -> None:
    """As in an image with a read-only file system: no home, no cache, no temporary files."""
    modes = {path: path.stat().st_mode for path in [shipped.pack, *shipped.pack.iterdir()]}
    for path in modes:
        path.chmod(0o555 if path.is_dir() else 0o444)
    blocked = shipped.folder / "blocked"
    blocked.write_text("")
    nowhere = {"HOME": str(blocked), "XDG_CACHE_HOME": str(blocked), "TMPDIR": str(blocked)}
    try:
        done = tag(shipped, shipped.pack, NUMBA_CACHE_DIR=str(blocked), **nowhere)
    finally:
        for path, mode in modes.items():
            path.chmod(mode)
    assert done.kernels and not any(done.kernels.values())


DIFFERENCES: dict[str, tuple[dict[str, Any], str]] = {  # what the manifest says instead; what the warning says
    "Python": ({"Python": "cpython-399"}, "it was made with Python cpython-399, here is "),
    "libraries": ({"numba": "0.1", "numpy": "0.2"}, "made with numba 0.1, here is "),
    "a system": ({"platform": "riscv64-plan9"}, "made with platform riscv64-plan9, here is"),
    "a version": ({"kernels": "0123456789abcdef"}, "made by another version of dcrfdsl"),
    "a newer CPU": (
        {"cpu": "z99", "features": "+sse2,+avx99,+amx-q"},
        "its CPU, z99, has amx-q, avx99, which this one",
    ),
    "no manifest": ({"cpu": 7}, f"it has no `{MANIFEST}`"),
}


@pytest.mark.long
@pytest.mark.parametrize(("changes", "words"), DIFFERENCES.values(), ids=DIFFERENCES)
def test_a_pack_that_does_not_fit_is_refused_in_words(
    changes: dict[str, Any], words: str, shipped: Shipped, tmp_path: Path
) -> None:
    pack = tmp_path / "pack"
    shutil.copytree(shipped.pack, pack)
    manifest = json.loads((pack / MANIFEST).read_text())
    (pack / MANIFEST).write_text(json.dumps({**manifest, **changes}))
    done = tag(shipped, pack)
    assert all(done.kernels.values())  # none is from the pack
    assert done.err.count("is not used, and kernels are compiled") == 1
    assert words in done.err


def test_a_folder_that_is_not_there_is_said(shipped: Shipped) -> None:
    done = dcrfdsl(shipped.folder, "tag", "a.model", "test.txt", "-q", DCRFDSL_KERNELS="nowhere")
    assert (
        "the kernel pack `nowhere` (DCRFDSL_KERNELS) is not used, and kernels are compiled: there is no such"
        in done.err
    )


@pytest.mark.long
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the levels are those of x86-64")
def test_a_pack_for_a_lower_level_serves_this_cpu(shipped: Shipped, tmp_path: Path) -> None:
    pack = tmp_path / "pack"
    dcrfdsl(shipped.folder, "compile", "a.model", "--to", str(pack), "--cpu", "x86-64-v2", "-q")
    manifest = json.loads((pack / MANIFEST).read_text())
    assert manifest["cpu"] == "x86-64-v2" and "avx" not in manifest["features"]
    done = tag(shipped, pack)
    assert done.kernels and not any(done.kernels.values()) and done.err.strip() == ""


def test_a_folder_with_other_files_is_no_place_for_a_pack(shipped: Shipped) -> None:
    (shipped.folder / "full").mkdir()
    (shipped.folder / "full" / "notes.txt").write_text("")
    done = dcrfdsl(shipped.folder, "compile", "a.model", "--to", "full", code=1)
    assert done.err.startswith("error[file-exists]: `full` is no kernel pack, and has files")
    assert [path.name for path in (shipped.folder / "full").iterdir()] == ["notes.txt"]


# an image ------------------------------------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="the page compiles for a level of x86-64")
def test_the_dockerfile_of_the_page_makes_an_image_that_compiles_nothing(shipped: Shipped, tmp_path: Path) -> None:
    """Its lines, but for the installation, by a shell; then its entry point by a user who may write nowhere."""
    page = (ROOT / "docs" / "how-to" / "kernels-in-images.md").read_text(encoding="utf-8")
    lines = page.partition("```dockerfile\n")[2].partition("```")[0].splitlines()
    app, made, environment = tmp_path / "app", tmp_path / "made", dict(os.environ)
    app.mkdir()
    environment |= {"HOME": str(tmp_path), "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    entry: list[str] = []
    for line in lines:
        word, _, rest = line.partition(" ")
        rest = rest.replace("/app", str(app)).replace("/tmp/made", str(made))
        if word == "COPY" and rest.startswith("address.model"):
            shutil.copy(shipped.folder / "a.model", app / "address.model")
        elif word == "RUN" and "pip install" not in rest:
            subprocess.run(rest, shell=True, cwd=app, env=environment, check=True, capture_output=True)
        elif word == "ENV":
            environment |= [rest.split("=")]
        elif word == "ENTRYPOINT":
            entry = json.loads(rest)
    assert entry[0] == "dcrfdsl" and not made.exists()
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    for name in ("HOME", "XDG_CACHE_HOME", "TMPDIR", "NUMBA_CACHE_DIR"):
        environment[name] = str(blocked)
    pack = {path: path.stat().st_mtime_ns for path in (app / "kernels").iterdir()}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps([entry[1:]])], cwd=app, env=environment, input="v\nw\n\n",
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    kernels = json.loads(done.stderr.splitlines()[-1])
    assert done.stdout.startswith("v A\n") or done.stdout.startswith("v B\n")
    assert kernels and not any(kernels.values())
    assert {path: path.stat().st_mtime_ns for path in (app / "kernels").iterdir()} == pack


# what it says --------------------------------------------------------------------------------------------------------


def test_it_says_what_it_needs_to_know(shipped: Shipped) -> None:
    (shipped.folder / "learned.dcrf").write_text("data conll(word, y)\nlabel y\nclique y: bias\n")
    done = dcrfdsl(shipped.folder, "compile", "learned.dcrf", code=1)
    assert done.err.startswith("error[no-data]: only data tell the states of `y`")
    assert "dcrfdsl compile TEMPLATE DATA" in done.err
    done = dcrfdsl(shipped.folder, "compile", "a.model", "--set", "train.seed=1", code=2)
    assert "`--set` and `--stage` are of templates" in done.err
