"""Numbers as text for people. Not here: the tables and lines around them (`cli.report`)."""

from __future__ import annotations


def figure(value: float) -> str:
    """Four decimals, or five significant digits for values below 1: `3395.5312`, `0.10542`, `3.1e-07`."""
    return f"{value:.4f}" if not abs(value) < 1.0 else f"{value:.5g}"


def number_text(value: float) -> str:
    """Six significant digits at most, as a template has them: `0.5`, `1e-12`, `1e6`."""
    return f"{value:g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
