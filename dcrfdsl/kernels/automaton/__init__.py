"""Kernels for automata: one composite state per position, and potentials of their own for listed transitions alone."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
