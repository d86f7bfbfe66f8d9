"""What conditions, terms, functions and lexicons give on the values of a corpus."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
