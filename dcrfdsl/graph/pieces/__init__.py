"""Instances of pieces on unrolled graphs, and the graphs of large pieces."""
