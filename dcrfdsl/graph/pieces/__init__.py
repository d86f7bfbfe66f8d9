"""Pieces: their instances on unrolled graphs, and the graphs of large pieces."""
