"""Optimizers: they see the value and gradient of an objective and nothing else."""
