"""What is wrong with a CRFsuite model file. Not here: the message with the file's name (`model_file`)."""

from __future__ import annotations


class Damage(Exception):
    """A part of the file contradicts another, in the words of a message."""
