"""Optimizers on the dual of a margin problem."""
