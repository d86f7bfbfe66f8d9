"""What a check leaves behind: nothing that only the search for cycles would find, since an editor checks for hours."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest
from helpers import ROOT

from dcrfdsl.semantics import check, load_text


@pytest.mark.parametrize("path", sorted((ROOT / "templates").glob("*.dcrf")), ids=lambda path: path.stem)
def test_a_model_is_gone_with_the_last_that_refers_to_it(path: Path) -> None:
    resolved = load_text(path.read_text(encoding="utf-8"), directory=path.parent)
    spec = weakref.ref(resolved.spec)
    gc.disable()
    try:
        check(resolved)
        del resolved
        assert spec() is None
    finally:
        gc.enable()
