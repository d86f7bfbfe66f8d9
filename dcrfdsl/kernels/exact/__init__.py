"""Kernels of exact inference by contraction programs."""
