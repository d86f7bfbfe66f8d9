"""Piecewise criteria: losses of pieces, each normalised over its own variables."""
