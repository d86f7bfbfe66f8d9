"""Kernels for pruned chains: lattices of the contexts that survive, order by order."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
