"""`np.empty`, `np.zeros` and `np.full` of kernels, in a few instructions.

Numba compiles each of them as a function, anew for each type and number of dimensions: a seventh of the compile time.
Here the memory is asked for directly. The stages of kernels put these in place of NumPy's (`linked_functions`).
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .numba_internals import parse_dtype

ALIGNMENT = 32  # bytes; what Numba takes
WORD = ir.IntType(64)


def _allocation(shape: Any, dtype: Any, fill: Any = None, is_zero: bool = False) -> Any:
    """fill: the type of a number for all cells."""
    element = parse_dtype(dtype) if dtype is not None else types.unliteral(fill or types.float64)
    lengths: Any = shape if isinstance(shape, types.BaseTuple) else (shape,)
    kind = types.Array(element, len(lengths), "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        values = cgutils.unpack_tuple(builder, arguments[0]) if lengths is shape else [arguments[0]]
        values = [context.cast(builder, v, k, types.intp) for v, k in zip(values, lengths, strict=True)]
        width = ir.Constant(WORD, context.get_abi_sizeof(context.get_data_type(element)))
        size, strides = width, list[Any]()
        for value in reversed(values):
            strides.insert(0, size)
            size = builder.mul(size, value)
        count = values[0]
        for value in values[1:]:
            count = builder.mul(count, value)
        memory = context.nrt.meminfo_alloc_aligned(builder, size, ALIGNMENT)
        place = context.nrt.meminfo_data(builder, memory)
        if is_zero:
            cgutils.memset(builder, place, size, 0)
        layout = context.get_value_type(kind)
        fields = [memory, ir.Constant(layout.elements[1], None), count, width]
        fields.append(builder.bitcast(place, layout.elements[4]))
        fields += [cgutils.pack_array(builder, each) for each in (values, strides)]
        if fill is not None:
            number = context.cast(builder, arguments[1], fill, element)
            with cgutils.for_range(builder, count) as loop:
                context.pack_value(builder, element, number, builder.gep(fields[4], [loop.index]))
        return cgutils.make_anonymous_struct(builder, fields, layout)

    given = [shape] if fill is None else [shape, fill]
    return kind(*given, types.none if dtype is None else dtype), generate


@intrinsic
def empty(typing, shape, dtype=None):
    return _allocation(shape, dtype)


@intrinsic
def zeros(typing, shape, dtype=None):
    return _allocation(shape, dtype, is_zero=True)


@intrinsic
def full(typing, shape, fill_value, dtype=None):
    return _allocation(shape, dtype, fill_value)
