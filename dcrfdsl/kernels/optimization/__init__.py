"""Kernels of optimizers: long vectors, batches, cuts of margin problems, bounds of boosting."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
