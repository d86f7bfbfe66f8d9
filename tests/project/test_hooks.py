"""The hooks that other projects use by pre-commit: their lines run, pass what is right and stop what is not."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from helpers import ROOT

from dcrfdsl.cli import run

TEXT = (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
HOOKS = {
    hook[1]: dict(re.findall(r"^  (\w+): (.+)$", hook[2], re.MULTILINE))
    for hook in re.finditer(r"^- id: (\S+)\n((?:  .+\n)+)", TEXT, re.MULTILINE)
}
GOOD = "dcrf 1\ndata conll(word, tag)\n\nlabel tag\n\nclique tag: bias, word\n"
BAD = {"dcrfdsl-check": GOOD.replace("word\n", "wrod\n"), "dcrfdsl-fmt": GOOD.replace(": bias", ":  bias")}


def test_there_are_two() -> None:
    assert set(HOOKS) == set(BAD) and all(hook["language"] == "python" for hook in HOOKS.values())


@pytest.mark.parametrize("name", BAD)
def test_a_hook_passes_good_templates_and_stops_at_bad_ones(name: str, tmp_path: Path) -> None:
    """pre-commit appends the files to the line, and those that a hook changes fail it, too."""
    hook = HOOKS[name]
    paths = [tmp_path / "good.dcrf", tmp_path / "bad.dcrf"]
    assert all(re.search(hook["files"], path.name) for path in paths) and not re.search(hook["files"], "a.dcrf.txt")
    for path, text in zip(paths, (GOOD, BAD[name]), strict=True):
        path.write_text(text, encoding="utf-8")
    program, *arguments = shlex.split(hook["entry"])
    assert program == "dcrfdsl"
    assert run([*arguments, str(paths[0])]) == 0 and paths[0].read_text(encoding="utf-8") == GOOD
    failed = run([*arguments, *map(str, paths)]) != 0
    assert failed or paths[1].read_text(encoding="utf-8") == GOOD
