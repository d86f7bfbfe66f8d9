"""A newcomer's first commands, with nothing but a wheel and its dependencies, in a new environment of each interpreter.

    python tests/project/first_commands.py dist/dcrfdsl-0.1.0-py3-none-any.whl python3.11 python3.12 python3.13

In an empty folder, with an empty cache, each environment runs `new`, `check`, `train` and `eval` on the data that `new`
brings, `tag`, `export`, and the exported programs; then once more what compiled kernels. Prints a table of seconds for
each interpreter, and what the installed packages take on the disk. It needs a network, for pip; the exported ES module
runs where there is Node. Not here: whether the answers are right, which tests of each command say.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

NAME, TEXT = "first.txt", "The DT\nold JJ\nmarket NN\nopened VBD\n. .\n"
COMMANDS = {
    "new": "new linear_chain -o chunk.dcrf",
    "check": "check chunk.dcrf",
    "train": "train chunk.dcrf linear_chain.txt -o chunk.model",
    "eval": "eval chunk.model linear_chain.test.txt",
    "tag": f"tag chunk.model {NAME}",
    "export": "export chunk.model -o chunker.py",
    "export of a module": "export chunk.model -o chunker.mjs",
}
AGAIN = ("check", "train", "tag")  # with the kernels that the first ones compiled


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("interpreters", nargs="+", metavar="PYTHON")
    given = parser.parse_args()
    for interpreter in given.interpreters:
        with tempfile.TemporaryDirectory(prefix="dcrfdsl-first-") as room:
            _report(given.wheel.resolve(), interpreter, Path(room))


def _report(wheel: Path, interpreter: str, room: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "NUMBA", "DCRFDSL"))}
    environment = {**kept, "XDG_CACHE_HOME": str(room / "cache")}
    home, work = room / "environment", room / "work"
    work.mkdir()
    (work / NAME).write_text(TEXT, encoding="utf-8")

    def run(*command: str | Path) -> str:
        ran = subprocess.run(list(map(str, command)), cwd=work, env=environment, capture_output=True, text=True)
        if ran.returncode:
            sys.exit(f"{interpreter}: {' '.join(map(str, command))}\n{ran.stdout}{ran.stderr}")
        return ran.stdout

    run(interpreter, "-m", "venv", home)
    scripts = home / ("Scripts" if os.name == "nt" else "bin")
    python, command = scripts / "python", scripts / "dcrfdsl"
    begun = time.perf_counter()
    run(python, "-m", "pip", "install", "--quiet", wheel)
    installed = time.perf_counter() - begun
    version = run(python, "-c", "import platform; print(platform.python_version())").strip()
    print(
        f"\nPython {version}, {_megabytes(home, besides=('pip', 'setuptools')):.0f} MB installed in {installed:.0f} s"
    )
    for size, package in sorted(_packages(python, run), reverse=True)[:8]:
        print(f"    {package:<24}{size:8.1f} MB")
    seconds = dict(_seconds(command, python, run))
    for name, value in seconds.items():
        print(f"    {name:<24}{value:8.2f} s")
    print(f"    {'kernels and parser':<24}{_megabytes(room / 'cache'):8.1f} MB")


def _seconds(command: Path, python: Path, run: object) -> Iterator[tuple[str, float]]:
    """What each command took, in seconds of a clock; the last ones with compiled kernels."""
    assert callable(run)

    def timed(*words: str | Path) -> tuple[float, str]:
        begun = time.perf_counter()
        said = run(*words)
        return time.perf_counter() - begun, said

    answers = {}
    for name, line in COMMANDS.items():
        seconds, answers[name] = timed(command, *line.split())
        yield name, seconds
    for program, runner in (("chunker.py", python), ("chunker.mjs", shutil.which("node"))):
        if runner is None:
            print(f"    no Node runs {program}")
            continue
        seconds, same = timed(runner, program, NAME)
        if same != answers["tag"]:
            sys.exit(f"{program} does not tag as the model does:\n{same}\n{answers['tag']}")
        yield f"the exported {program}", seconds
    for name in AGAIN:
        yield f"{name} again", timed(command, *COMMANDS[name].split())[0]


def _packages(python: Path, run: object) -> list[tuple[float, str]]:
    assert callable(run)
    place = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('platlib'))").strip())
    return [(_megabytes(path), path.name) for path in place.iterdir() if path.is_dir()]


def _megabytes(folder: Path, besides: tuple[str, ...] = ()) -> float:
    """What a folder takes, in MB (10⁶ bytes), but for the packages that every environment has."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files if not set(besides) & set(path.parts)) / 1e6


if __name__ == "__main__":
    main()
