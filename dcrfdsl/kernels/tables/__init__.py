"""From weights to score tables and back to gradients, and the arrays that kernels take."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
