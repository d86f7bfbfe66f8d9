"""Kernels that read text, extract features and lay out their weights."""
