"""Kernels that run over many sequences in one call, whatever the method of inference."""
