"""Data bound to a model: packed features, score tables, and the chains among the graphs."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
