"""What is installed is what was tested: a wheel, in a new environment, from an empty directory."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def call(*command: str | Path, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    run = subprocess.run([str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    call(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, ROOT, cwd=out)
    (made,) = out.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of an environment with the wheel; what it depends on is borrowed from this one, without a network."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False, symlinks=True)
    pip = (sys.executable, "-m", "pip", "--python", home / "bin/python")
    call(*pip, "install", "--no-deps", "--no-index", "--disable-pip-version-check", wheel, cwd=home)
    (site,) = home.glob("lib/python*/site-packages")
    site.joinpath("borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin"


def test_wheel_ships_grammar_and_templates(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for folder in ("grammar", "templates"):
        shipped = {f"dcrfdsl/{folder}/{path.name}" for path in (ROOT / folder).iterdir() if path.is_file()}
        assert shipped
        assert shipped <= names
    page = {f"dcrfdsl/model/reporting/page/{path.name}" for path in (ROOT / "dcrfdsl/model/reporting/page").iterdir()}
    assert page and page <= names
    assert not [name for name in names if name.startswith(("tests/", "examples/"))]


@pytest.mark.long
def test_installed_package_uses_its_own_grammar_and_templates(installed: Path, tmp_path: Path) -> None:
    place = call(installed / "python", "-c", "import dcrfdsl; print(dcrfdsl.__file__)", cwd=tmp_path)
    assert place.startswith(str(installed.parent))
    listed = call(installed / "dcrfdsl", "new", cwd=tmp_path).splitlines()
    names = [line.split()[0] for line in listed if line.startswith("  ")]
    assert sorted(names) == sorted(path.stem for path in (ROOT / "templates").glob("*.dcrf"))
    call(installed / "dcrfdsl", "new", "linear_chain", "-o", "mine.dcrf", cwd=tmp_path)
    call(installed / "dcrfdsl", "check", "mine.dcrf", cwd=tmp_path)
