"""What people read in a browser: blocks of text, tables and pictures, as HTML for pages and outputs of notebooks."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
