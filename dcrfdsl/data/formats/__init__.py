"""The formats of data, a file each: reading, writing predictions beside what was read, and writing whole corpora."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
