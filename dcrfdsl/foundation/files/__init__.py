"""Files that are written whole or not at all, places for caches, and checks of stored arrays."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
