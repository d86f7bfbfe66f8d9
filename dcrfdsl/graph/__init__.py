"""Graphs: unrolled templates, arrays for kernels, elimination orders, spanning forests, `.uai` files."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
