"""Data: readers and writers of `conll`, `conllu` and `jsonl`, and columns interned once.

Numba is loaded by the first file that is read, not by importing this room.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
