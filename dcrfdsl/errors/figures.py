"""Numbers as people read them. Not here: tables and lines that numbers stand in (`report`)."""

from __future__ import annotations

__all__ = ["figure"]


def figure(value: float) -> str:
    """Four decimals, or five significant digits of what is less than 1: `3395.5312`, `0.10542`, `3.1e-07`."""
    return f"{value:.4f}" if not abs(value) < 1.0 else f"{value:.5g}"
