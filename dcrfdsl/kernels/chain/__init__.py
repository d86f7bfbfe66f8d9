"""Kernels for linear chains: sums, best labellings, competitors of the known labelling."""
