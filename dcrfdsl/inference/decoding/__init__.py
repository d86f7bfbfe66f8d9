"""Labellings: the n best, samples, local decoding, decoding under constraints, and votes."""
