"""Kernels that run over many sequences in one call, whatever the method of inference."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
