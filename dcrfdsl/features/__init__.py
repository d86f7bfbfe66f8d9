"""Features: from interned columns to sparse rows of feature ids.

Nothing heavy is loaded before an extractor is used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
