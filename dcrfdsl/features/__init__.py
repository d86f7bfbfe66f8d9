"""Features: from interned columns to sparse rows of feature ids.

Nothing heavy is loaded until an extractor is asked for.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
