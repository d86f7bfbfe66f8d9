"""What a model says, whatever door it came in by: `ModelSpec`, its settings, and the way from and to text.

Importing this package is cheap: the parser is loaded by `resolve` and the printer by `unparse`, when they are imported.
"""

from .schema.model_spec import ModelSpec

__all__ = ["ModelSpec"]
