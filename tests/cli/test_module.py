"""`python -m dcrfdsl` is the command."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version


def test_the_package_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "dcrfdsl", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"dcrfdsl {version('dcrfdsl')}\n"
    failed = subprocess.run([sys.executable, "-m", "dcrfdsl", "check", "none.dcrf"], capture_output=True, text=True)
    assert failed.returncode != 0 and "there is no file `none.dcrf`" in failed.stderr
