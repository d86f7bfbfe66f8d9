"""Diagnostics: the place of a problem, its description, its remedy, and their rendering."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
