"""Training on data that is larger than memory, in parts, by one machine or many."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
