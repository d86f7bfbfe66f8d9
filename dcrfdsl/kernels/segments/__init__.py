"""Kernels of semi-Markov models: sums, expectations and best labellings over the segments of a chain."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
