"""Numba kernels: arrays in, arrays out. Nothing here knows what a template, a corpus or a file is.

`runtime.compilation` says how they are compiled, `runtime.kernel_cache` how compiled code outlives a process.
"""
