"""A real editor attached to the server: Neovim without a window shows problems, completes and formats."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="the extra `lsp` is not installed")

SCRIPT = """
local out = {}
vim.o.hidden = true
vim.cmd("edit a.dcrf")
vim.bo.filetype = "dcrf"
local id = vim.lsp.start_client({ name = "dcrfdsl", cmd = COMMAND, root_dir = vim.fn.getcwd() })
vim.lsp.buf_attach_client(0, id)
local function wait(wanted) return vim.wait(60000, wanted, 20) end
wait(function() return #vim.diagnostic.get(0) > 0 end)
out.diagnostics = {}
for _, one in ipairs(vim.diagnostic.get(0)) do
    table.insert(out.diagnostics, { line = one.lnum + 1, column = one.col + 1, code = one.code, message = one.message })
end
vim.api.nvim_win_set_cursor(0, { 3, 10 })
local place = vim.lsp.util.make_position_params(0, "utf-16")
local answer = vim.lsp.buf_request_sync(0, "textDocument/completion", place, 60000)
out.completion = {}
for _, item in ipairs(answer[id].result.items) do table.insert(out.completion, item.label) end
vim.api.nvim_buf_set_lines(0, 2, 3, false, { "clique   y:word" })
out.gone = wait(function() return #vim.diagnostic.get(0) == 0 end)
vim.lsp.buf.formatting_sync(nil, 60000)
out.text = vim.api.nvim_buf_get_lines(0, 0, -1, false)
local file = io.open("out.json", "w")
file:write(vim.fn.json_encode(out))
file:close()
vim.lsp.stop_client(id)
vim.cmd("qall!")
"""


@pytest.mark.long
@pytest.mark.skipif(shutil.which("nvim") is None, reason="Neovim is not installed")
def test_neovim_shows_completes_and_formats(tmp_path: Path) -> None:
    (tmp_path / "a.dcrf").write_text("data conll(word, y)\nlabel y in {A, B}\nclique y: wrd\n")
    command = [sys.executable, "-c", "from dcrfdsl.cli import main; main()", "lsp"]
    lua = "{ " + ", ".join(f"[[{word}]]" for word in command) + " }"
    (tmp_path / "attach.lua").write_text(SCRIPT.replace("COMMAND", lua))
    call = ["nvim", "--headless", "--clean", "-c", "luafile attach.lua", "-c", "qall!"]
    run = subprocess.run(
        call, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120
    )  # fmt: skip
    assert (tmp_path / "out.json").exists(), run.stdout + run.stderr
    out = json.loads((tmp_path / "out.json").read_text())
    (wrong,) = out["diagnostics"]
    assert (wrong["line"], wrong["column"], wrong["code"]) == (3, 11, "unknown-name")
    assert "did you mean `word`?" in wrong["message"]
    assert out["completion"][:2] == ["word", "y"]
    assert out["gone"]
    assert out["text"] == ["dcrf 1", "data conll(word, y)", "label y in {A, B}", "clique y: word"]
