"""Exported modules of JavaScript, asked by one process of Node for many sentences."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

NODE = shutil.which("node") or ""
needs_node = pytest.mark.skipif(not NODE, reason="needs Node")

ASK = """
import { readFileSync } from "node:fs";
const questions = JSON.parse(readFileSync(0, "utf-8"));
const answers = [];
for (const { module, calls } of questions) {
  const { Tagger, TaggerError } = await import(module);
  const tagger = new Tagger();
  for (const [method, ...given] of calls) {
    try {
      answers.push({ answer: tagger[method](...given) });
    } catch (error) {
      answers.push({ error: `${error instanceof TaggerError ? "" : "no TaggerError: "}${error.message}` });
    }
  }
}
process.stdout.write(JSON.stringify(answers));
"""


def asked(questions: Iterable[tuple[Path, Sequence[Sequence[Any]]]]) -> list[dict[str, Any]]:
    """What the taggers of these modules answer to calls [method, argument, …]: `answer`, or `error` with its message.

    NaN reads as None.
    """
    sent = [{"module": module.as_uri(), "calls": calls} for module, calls in questions]
    done = subprocess.run(
        [NODE, "--input-type=module", "-e", ASK], input=json.dumps(sent).encode(), capture_output=True, timeout=600
    )
    assert done.returncode == 0, done.stderr.decode()
    answers: list[dict[str, Any]] = json.loads(done.stdout)
    return answers
