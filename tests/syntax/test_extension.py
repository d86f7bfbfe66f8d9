"""The code of the VS Code extension, run by Node beside stand-ins for the editor and for its client library."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT

EXTENSION = ROOT / "grammar" / "editors" / "vscode"
EDITOR = """
const said = (global.said = []);
const listeners = (global.listeners = []);
module.exports = {
  workspace: {
    getConfiguration: (section) => ({ get: (name) => (said.push(["setting", `${section}.${name}`]), "/venv/dcrfdsl") }),
    onDidChangeConfiguration: (listener) => listeners.push(listener),
  },
  window: { showWarningMessage: (words) => said.push(["warning", words]) },
  commands: { registerCommand: (name, run) => ((global.commands ??= {})[name] = run) },
};
"""
CLIENT = """
exports.LanguageClient = class {
  constructor(id, name, server, options) {
    said.push(["client", id, server, options.documentSelector.map((one) => one.language)]);
  }
  async start() {
    if (process.env.FAILS) throw new Error("spawn ENOENT");
    said.push(["start"]);
  }
  async stop() {
    said.push(["stop"]);
  }
};
"""
PROGRAM = """
const extension = require(process.argv[2]);
(async () => {
  await extension.activate({ subscriptions: [] });
  await global.commands["dcrf.restart"]();
  for (const changed of ["dcrf.data", "dcrf.command"]) {
    for (const listener of global.listeners) await listener({ affectsConfiguration: (name) => name === changed });
  }
  await extension.deactivate();
  await extension.deactivate();
  console.log(JSON.stringify(global.said));
})();
"""
CREATED = ["client", "dcrf", {"command": "/venv/dcrfdsl", "args": ["lsp"]}, ["dcrf", "dcrf"]]


def run_extension(folder: Path, *, client: bool = True, **environment: str) -> list[Any]:
    """What the extension did while it was loaded, restarted by hand and by a setting, and ended."""
    if shutil.which("node") is None:
        pytest.skip("needs Node")
    modules = folder / "modules"
    (modules / "vscode").mkdir(parents=True)
    (modules / "vscode" / "index.js").write_text(EDITOR)
    if client:
        (modules / "vscode-languageclient").mkdir()
        (modules / "vscode-languageclient" / "node.js").write_text(CLIENT)
    shutil.copy(EXTENSION / "extension.js", folder / "extension.js")
    (folder / "program.js").write_text(PROGRAM)
    done = subprocess.run(
        ["node", folder / "program.js", folder / "extension.js"], capture_output=True, text=True, check=True,
        env={**os.environ, "NODE_PATH": str(modules), **environment},
    )  # fmt: skip
    found: list[Any] = json.loads(done.stdout)
    return [one for one in found if one[0] != "setting"]


def test_the_client_starts_restarts_and_ends(tmp_path: Path) -> None:
    assert run_extension(tmp_path) == [CREATED, ["start"], ["stop"], CREATED, ["start"], ["stop"], CREATED, ["start"],
                                       ["stop"]]  # fmt: skip


def test_a_server_that_does_not_start_is_told_with_the_setting(tmp_path: Path) -> None:
    said = run_extension(tmp_path, FAILS="1")
    assert [one[0] for one in said] == ["client", "warning"] * 3
    assert "pip install -e '.[lsp]'" in said[1][1] and "dcrf.command" in said[1][1]


def test_without_the_client_library_there_are_colours_alone(tmp_path: Path) -> None:
    said = run_extension(tmp_path, client=False)
    assert [one[0] for one in said] == ["warning"] * 3
    assert "colours alone" in said[0][1]
