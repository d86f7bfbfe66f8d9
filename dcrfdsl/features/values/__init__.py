"""The values of conditions, terms, functions and lexicons on a corpus."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
