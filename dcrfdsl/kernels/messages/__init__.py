"""Kernels of message passing, variational inference and Gibbs sampling on one graph."""
