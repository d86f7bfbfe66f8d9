"""What kernels need to know about the CPU. Not here: the vectors built from its registers (`machine_vectors`)."""

from __future__ import annotations

from numba.core import config
from numba.core.codegen import get_host_cpu_features


def _lanes(features: str) -> int:
    """Doubles that a register holds on a CPU with these features."""
    present = set(features.split(","))
    return 8 if "+avx512f" in present else 4 if "+avx" in present else 2


LANES = _lanes(config.CPU_FEATURES or get_host_cpu_features())
