"""Kernels that read text, extract features and lay out their weights."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
