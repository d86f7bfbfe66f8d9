"""Diagnostics: where a problem lies, what it is, what to do, and how a person reads it."""
