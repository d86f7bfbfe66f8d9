"""Kernels of pieces that are normalised over their own variables."""
