"""What the feature lists of a specification ask for, window by window, before any data."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
