"""The table of kinds of cases: name → module and class. Each module is imported on first use."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from .cases import Fuzzer

KINDS = {
    "templates": ("templates", "Templates"),
    "settings": ("settings", "OddSettings"),
    "data": ("data_files", "DataFiles"),
    "models": ("model_files", "ModelFiles"),
}


def fuzzer_of(kind: str, room: Path) -> Fuzzer[Any]:
    """The `Fuzzer` of a kind, ready for use."""
    module, name = KINDS[kind]
    fuzzer: Fuzzer[Any] = getattr(importlib.import_module(f".{module}", __package__), name)(room)
    return fuzzer
