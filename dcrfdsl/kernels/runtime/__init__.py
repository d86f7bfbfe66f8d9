"""How kernels are compiled, cached and vectorised, and the status codes that they return."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
