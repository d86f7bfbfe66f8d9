"""Numba kernels: arrays in, arrays out. Nothing here knows what a template, a corpus or a file is.

How they are compiled is said in `compiling`, how compiled code is kept between processes in `keeping`.
"""
