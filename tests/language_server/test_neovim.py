"""A real editor attached to the server: Neovim without a window, set up by the words of the guide."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import ROOT

pytest.importorskip("pygls", reason="the extra `lsp` is not installed")

GUIDE = ROOT / "docs" / "how-to" / "editor.md"
TEMPLATE = """data conll(word, y)
label y in {A, B}
features near: word, lower(word)
clique   y:near
clique y[-1], y: wrd
clique y: pre
"""
SCRIPT = """
local out = {}
local published = 0
local show = vim.lsp.handlers["textDocument/publishDiagnostics"]
vim.lsp.handlers["textDocument/publishDiagnostics"] = function(...)
    published = published + 1
    return show(...)
end
local function wait(wanted) return vim.wait(60000, wanted, 20) end
local function lines() return vim.api.nvim_buf_get_lines(0, 0, -1, false) end
local function goto_word(row, word)
    local line = lines()[row]
    vim.api.nvim_win_set_cursor(0, { row, line:find(word, 1, true) - 1 })
end
vim.ui.select = function(items, options, chosen)  -- a user who takes the first of a menu
    out.menu = {}
    for _, item in ipairs(items) do table.insert(out.menu, (options.format_item(item))) end
    chosen(items[1], 1)
end
vim.cmd("edit a.dcrf")
out.filetype = vim.bo.filetype
out.syntax = vim.fn.synIDattr(vim.fn.synID(2, 1, 1), "name")
wait(function() return #vim.diagnostic.get(0) >= 2 end)
out.diagnostics = {}
for _, one in ipairs(vim.diagnostic.get(0)) do
    table.insert(out.diagnostics, { line = one.lnum + 1, column = one.col + 1, code = one.code, message = one.message })
end

vim.api.nvim_win_set_cursor(0, { 6, 12 })
local place = vim.lsp.util.make_position_params(0, "utf-16")
place.position.character = 13
local answer = vim.lsp.buf_request_sync(0, "textDocument/completion", place, 60000)
out.completion = {}
for _, one in pairs(answer or {}) do
    for _, item in ipairs(one.result.items) do table.insert(out.completion, item.label) end
end

goto_word(3, "lower")
vim.lsp.buf.hover()
local function floating()
    for _, window in ipairs(vim.api.nvim_list_wins()) do
        if vim.api.nvim_win_get_config(window).relative ~= "" then return window end
    end
end
wait(floating)
local window = floating()
out.hover = vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false)
vim.api.nvim_win_close(window, true)

goto_word(3, "near")
local before = published
vim.lsp.buf.rename("around")
out.renamed = wait(function() return lines()[3]:find("around") and lines()[4]:find("around") end)

wait(function() return published > before end)
goto_word(5, "wrd")
vim.lsp.buf.code_action()
out.fixed = wait(function() return lines()[5] == "clique y[-1], y: word" end)

vim.api.nvim_buf_set_lines(0, 5, 6, false, {})
out.gone = wait(function() return #vim.diagnostic.get(0) == 0 end)
if vim.lsp.buf.format then vim.lsp.buf.format({ timeout_ms = 60000 }) else vim.lsp.buf.formatting_sync(nil, 60000) end
out.text = lines()
local file = io.open("out.json", "w")
file:write(vim.fn.json_encode(out))
file:close()
vim.cmd("qall!")
"""


def configuration() -> str:
    """The Lua of the guide."""
    section = GUIDE.read_text(encoding="utf-8").partition("### Neovim\n")[2].partition("\n### ")[0]
    blocks: list[str] = re.findall(r"```text\n(vim\..*?)```", section, re.DOTALL)
    return "\n".join(reversed(blocks))  # what 0.7 needs first comes last


@pytest.mark.long
@pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim is not installed")
def test_neovim_as_the_guide_sets_it_up(tmp_path: Path) -> None:
    (tmp_path / "a.dcrf").write_text(TEMPLATE)
    command = tmp_path / "bin" / "dcrfdsl"
    command.parent.mkdir()
    command.write_text(f"#!/bin/sh\nexec '{sys.executable}' -c 'from dcrfdsl.cli import main; main()' \"$@\"\n")
    command.chmod(0o755)
    home = tmp_path / "home"
    (home / "nvim").mkdir(parents=True)
    plugins = home / "nvim" / "pack" / "dcrf" / "start"
    shutil.copytree(ROOT / "grammar" / "editors" / "vim", plugins / "dcrf")
    assert "vim.lsp.start" in configuration()
    (home / "nvim" / "init.lua").write_text(configuration())
    (tmp_path / "attach.lua").write_text(SCRIPT)
    run = subprocess.run(
        ["nvim", "--headless", "-c", "luafile attach.lua", "-c", "qall!"], cwd=tmp_path, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=180, env={
            **os.environ, "XDG_CONFIG_HOME": str(home), "XDG_DATA_HOME": str(home), "XDG_STATE_HOME": str(home),
            "XDG_CACHE_HOME": str(home), "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}",
        },
    )  # fmt: skip
    assert (tmp_path / "out.json").exists(), run.stdout + run.stderr
    out = json.loads((tmp_path / "out.json").read_text())
    assert out["filetype"] == "dcrf"
    assert out["syntax"] == "dcrfStatement"
    wrong = next(one for one in out["diagnostics"] if one["line"] == 5)
    assert (wrong["column"], wrong["code"]) == (18, "unknown-name")
    assert "did you mean `word`?" in wrong["message"]
    assert {"word", "near", "prefix"} <= set(out["completion"])
    assert out["menu"][0] == "Write `word`"
    assert any("feature function" in line for line in out["hover"])
    assert out["renamed"] and out["fixed"] and out["gone"]
    assert out["text"] == [
        "dcrf 1", "data conll(word, y)", "label y in {A, B}", "features around: word, lower(word)", "clique y: around",
        "clique y[-1], y: word",
    ]  # fmt: skip
