"""Kernels for linear chains: sums, best labellings, competitors of the known labelling."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
