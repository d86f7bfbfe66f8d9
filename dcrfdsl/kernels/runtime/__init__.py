"""How kernels are compiled, kept and vectorised, and the status codes that they return."""
