"""`python -m dcrfdsl` is the command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest


def test_the_package_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "dcrfdsl", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"dcrfdsl {version('dcrfdsl')}\n"
    failed = subprocess.run([sys.executable, "-m", "dcrfdsl", "check", "none.dcrf"], capture_output=True, text=True)
    assert failed.returncode != 0 and "there is no file `none.dcrf`" in failed.stderr


@pytest.mark.parametrize("ignored", [False, True])
def test_an_interrupt_while_modules_load_ends_the_command_silently(tmp_path: Path, ignored: bool) -> None:
    """A module that the command loads sends the signal. What is ignored, as in the background, stays ignored."""
    (tmp_path / "click.py").write_text(
        "import importlib, os, signal, sys\n"
        "os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.path.remove(os.path.dirname(__file__))\n"
        "del sys.modules['click']\n"
        "importlib.import_module('click')\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "dcrfdsl", "--version"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.SIG_DFL) and None,
    )
    assert (done.returncode, done.stderr) == (0 if ignored else -signal.SIGINT, "")
    assert bool(done.stdout) == ignored
