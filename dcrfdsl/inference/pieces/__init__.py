"""Pieces of a data set, each normalised by itself."""
