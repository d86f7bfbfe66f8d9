"""Kernels of optimizers: long vectors, batches, cuts of margin problems, bounds of boosting."""
