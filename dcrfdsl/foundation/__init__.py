"""What every room stands on: types of arrays, messages with their places, files written whole, modules loaded late."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
