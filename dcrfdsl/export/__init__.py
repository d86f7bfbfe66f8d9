"""Self-contained taggers: one Python file and one `.npz`, which need numpy alone."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
