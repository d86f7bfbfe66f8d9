"""Numba kernels: arrays in, arrays out. Nothing here knows what a template, a corpus or a file is.

Each wing is a room of its own. How kernels are compiled is said in `kernels.runtime.compilation`, how compiled code is
kept between processes in `kernels.runtime.kernel_cache`.
"""
