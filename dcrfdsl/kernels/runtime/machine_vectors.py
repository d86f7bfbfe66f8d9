"""Machine vectors as values of compiled code: a few registers of doubles that stay in registers.

A value of type `Vectors(n)` is n registers of `LANES` doubles, laid end to end. LLVM vectorises only loops that it
knows to be long. The tables of a CRF have tens of cells; there, explicit vectors are several times faster. `LANES` is
the number of doubles in a register of this CPU: 8 with AVX-512, 4 with AVX, else 2. LLVM translates the operations to
any CPU, so the width affects speed alone.

The argument `registers`, a tuple of n zeros, gives the number of registers of a value: its type is known when the
caller is compiled. Arithmetic handles inf and nan, and keeps the order of operations except in sums over lanes. With
`NUMBA_DISABLE_JIT` the same functions work on NumPy arrays. Not here: kernels.

The exponential function is 2^k e^r with k an integer and |r| ≤ log(2) / 2, by its Taylor series of degree 13. The split
of log 2 into two parts follows Cody and Waite (Software Manual for the Elementary Functions, 1980).
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.extending import intrinsic, models, register_model

from ...foundation import Floats
from . import interpreted_vectors
from .compilation import LANES

CACHE_LINE = 64  # bytes
LEAST_EXPONENT, MOST_EXPONENT = -708.0, 709.0  # where exp is computed: below it is 0, above it is inf
ROUNDING = 1.5 * 2.0**52  # added to a number below 2^51 it leaves the nearest integer in the lowest bits
LOG2_HIGH, LOG2_LOW = 0.693145751953125, 1.42860682030941723212e-6  # 16 bits, so that k · high is exact; the rest
TAYLOR = [1.0 / math.factorial(k) for k in range(13, 1, -1)]
REORDER = ("reassoc", "nsz")


def block_registers(size: int) -> int:
    """Registers per block, 1 to 4, for runs of `size` doubles: few blocks, and few unused lanes."""
    need = -(-size // LANES)
    return min((4, 3, 2, 1), key=lambda registers: -(-need // registers) * (registers + 0.5))


def padded(size: int) -> int:
    """`size` rounded up to whole blocks."""
    block = block_registers(size) * LANES
    return -(-size // block) * block


def aligned_zeros(size: int) -> Floats:
    """Zeros that begin on a cache line; otherwise vectors would straddle two."""
    buffer = np.zeros(8 * size + CACHE_LINE, np.uint8)
    start = -buffer.__array_interface__["data"][0] % CACHE_LINE
    return buffer[start : start + 8 * size].view(np.float64)


# the type ------------------------------------------------------------------------------------------------------------

DOUBLE, INT32, INT64 = ir.DoubleType(), ir.IntType(32), ir.IntType(64)
REGISTER = ir.VectorType(DOUBLE, LANES)
WORDS = ir.VectorType(INT64, LANES)


class Vectors(types.Type):
    """`count` registers of doubles."""

    def __init__(self, count: int):
        self.count = count
        super().__init__(name=f"Vectors({count})")


@register_model(Vectors)
class _VectorsModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Vectors):
        super().__init__(manager, kind, ir.ArrayType(REGISTER, kind.count))


def _call(builder: Any, name: str, result: Any, arguments: Sequence[Any]) -> Any:
    signature = ir.FunctionType(result, [a.type for a in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, signature, name), arguments)


def _constant(value: float) -> Any:
    return ir.Constant(REGISTER, [value] * LANES)


def _shuffled(builder: Any, x: Any, y: Any, lanes: Sequence[int]) -> Any:
    """These lanes of two registers, counted through both."""
    return builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(INT32, LANES), lanes))


def _splat(builder: Any, scalar: Any, kind: Any = REGISTER) -> Any:
    undefined = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(INT32, 0))
    return _shuffled(builder, first, undefined, [0] * LANES)


def split(builder: Any, value: Any) -> list[Any]:
    return [builder.extract_value(value, n) for n in range(value.type.count)]


def join(builder: Any, registers: Sequence[Any]) -> Any:
    out = ir.Constant(ir.ArrayType(REGISTER, len(registers)), ir.Undefined)
    for n, register in enumerate(registers):
        out = builder.insert_value(out, register, n)
    return out


def check_bounds(context: Any, builder: Any, array_type: Any, array: Any, at: Any, count: Any) -> None:
    """Where Numba checks bounds: code that raises IndexError unless `count` elements from `at` on lie in the array."""
    if not config.BOUNDSCHECK:
        return
    (size,) = cgutils.unpack_tuple(builder, context.make_array(array_type)(context, builder, array).shape)
    nothing = ir.Constant(at.type, 0)
    past = builder.icmp_signed(">", builder.add(at, count), size)
    outside = builder.or_(builder.icmp_signed("<", at, nothing), past)
    with builder.if_then(builder.and_(builder.icmp_signed(">", count, nothing), outside), likely=False):
        context.call_conv.return_user_exc(builder, IndexError, ("a register reaches out of its array",))


def places_of(
    context: Any, builder: Any, array_type: Any, array: Any, at: Any, count: int, lanes: Any = None
) -> list[Any]:
    """Pointers to `count` registers in an array from element `at` on. `lanes`: how many lanes are used; None: all."""
    whole = ir.Constant(at.type, count * LANES)
    used = whole if lanes is None else builder.select(builder.icmp_signed("<", lanes, whole), lanes, whole)
    check_bounds(context, builder, array_type, array, at, used)
    data = context.make_array(array_type)(context, builder, array).data
    starts = [builder.gep(data, [builder.add(at, ir.Constant(at.type, n * LANES))]) for n in range(count)]
    return [builder.bitcast(start, REGISTER.as_pointer()) for start in starts]


def _element(context: Any, builder: Any, array_type: Any, array: Any, number: Any) -> Any:
    check_bounds(context, builder, array_type, array, number, ir.Constant(number.type, 1))
    return builder.load(builder.gep(context.make_array(array_type)(context, builder, array).data, [number]))


def _widened(builder: Any, value: Any) -> Any:
    return builder.sext(value, INT64) if value.type != INT64 else value


def _load(context: Any, builder: Any, array_type: Any, array: Any, at: Any, count: int) -> list[Any]:
    places = places_of(context, builder, array_type, array, at, count)
    return [builder.load(place, align=8, typ=REGISTER) for place in places]


def fused(builder: Any, x: Any, y: Any, z: Any) -> Any:
    """x · y + z, rounded once where the CPU has an instruction for it."""
    return _call(builder, f"llvm.fmuladd.v{LANES}f64", REGISTER, [x, y, z])


def _select(builder: Any, comparison: str, x: Any, y: Any) -> Any:
    return builder.select(builder.fcmp_ordered(comparison, x, y), x, y)


def _halves(half: int) -> tuple[list[int], list[int]]:
    """The lanes of two registers in blocks of `half`: first the blocks with even numbers, then those with odd ones."""
    low = [n if not n & half else n - half + LANES for n in range(LANES)]
    return low, [n + half for n in low]


def _lane_masks(builder: Any, count: Any, registers: int) -> list[Any]:
    """One mask per register: its lanes whose number, counted through all registers, is below `count`."""
    counts = _splat(builder, count, WORDS)
    lanes = [list(range(n * LANES, (n + 1) * LANES)) for n in range(registers)]
    return [builder.icmp_signed("<", ir.Constant(WORDS, register_lanes), counts) for register_lanes in lanes]


# the operations ------------------------------------------------------------------------------------------------------


def _operation(define: Callable[..., Any]) -> Any:
    """A function of compiled code; without compilation its namesake of `interpreted_vectors`."""
    return getattr(interpreted_vectors, define.__name__) if config.DISABLE_JIT else intrinsic(define)


def _elementwise(name: str, build: Callable[..., Any], arity: int = 2) -> Any:
    """A function of values of equal length, applied register by register."""

    def generate(context, builder, signature, arguments):
        parts = zip(*(split(builder, value) for value in arguments), strict=True)
        return join(builder, [build(builder, *group) for group in parts])

    define: Any = {  # Numba counts the parameters
        1: lambda typing, x: (x(x), generate),
        2: lambda typing, x, y: (x(x, y), generate),
        3: lambda typing, x, y, z: (x(x, y, z), generate),
        4: lambda typing, x, y, value, other: (x(x, y, value, other), generate),
    }[arity]
    define.__name__ = name
    return _operation(define)


def _least_above(name: str, bound: float) -> Any:
    def build(builder: Any, x: Any, y: Any) -> Any:
        counts = builder.fcmp_ordered(">", y, _constant(bound))
        return _select(builder, "<", builder.select(counts, y, x), x)  # a blend and a minimum

    return _elementwise(name, build)


def _exp(builder: Any, x: Any) -> Any:
    low = _constant(LEAST_EXPONENT)
    inside = builder.select(builder.fcmp_unordered(">", x, low), x, low)  # nan stays nan
    shifted = fused(builder, inside, _constant(1.0 / math.log(2.0)), _constant(ROUNDING))
    k = builder.fsub(shifted, _constant(ROUNDING))
    r = fused(builder, k, _constant(-LOG2_HIGH), inside)
    r = fused(builder, k, _constant(-LOG2_LOW), r)
    series = _constant(TAYLOR[0])
    for coefficient in TAYLOR[1:]:
        series = fused(builder, series, r, _constant(coefficient))
    series = fused(builder, builder.fmul(r, r), series, builder.fadd(r, _constant(1.0)))
    # the lowest bits of `shifted` are k: moved to the exponent's place they make 2^k
    exponent = builder.add(builder.bitcast(shifted, WORDS), ir.Constant(WORDS, [1023] * LANES))
    power = builder.bitcast(builder.shl(exponent, ir.Constant(WORDS, [52] * LANES)), REGISTER)
    value = builder.fmul(series, power)
    value = builder.select(builder.fcmp_ordered("<", x, low), _constant(0.0), value)
    return builder.select(builder.fcmp_ordered(">", x, _constant(MOST_EXPONENT)), _constant(math.inf), value)


add = _elementwise("add", lambda builder, x, y: builder.fadd(x, y))
subtract = _elementwise("subtract", lambda builder, x, y: builder.fsub(x, y))
multiply = _elementwise("multiply", lambda builder, x, y: builder.fmul(x, y))
fma = _elementwise("fma", fused, 3)  # x · y + z
maximum = _elementwise("maximum", lambda builder, x, y: _select(builder, ">", x, y))
least_positive = _least_above("least_positive", 0.0)  # the lesser of x and y, but x where y is 0 or below
least_finite = _least_above("least_finite", -math.inf)  # the lesser of x and y, but x where y is -inf
exp = _elementwise("exp", _exp, 1)  # e^x with a relative error of 1e-15; 0 below -708 and for -inf, inf above 709
choose_below = _elementwise(  # (x, y, value, other): `value` in the lanes where x < y, `other` in the rest
    "choose_below", lambda builder, x, y, *values: builder.select(builder.fcmp_ordered("<", x, y), *values), 4
)


@_operation
def load(typing, registers, array, at):
    """The elements of an array from `at` on."""

    def generate(context, builder, signature, arguments):
        return join(builder, _load(context, builder, signature.args[1], *arguments[1:], registers.count))

    return Vectors(registers.count)(registers, array, types.int64), generate


@_operation
def store(typing, array, at, value):
    """Writes a value to an array from `at` on."""

    def generate(context, builder, signature, arguments):
        parts = split(builder, arguments[2])
        places = places_of(context, builder, signature.args[0], arguments[0], arguments[1], len(parts))
        for part, place in zip(parts, places, strict=True):
            builder.store(part, place, align=8)
        return context.get_dummy_value()

    return types.void(array, types.int64, value), generate


@_operation
def load_part(typing, registers, array, at, count):
    """Like `load`, but reads only the first `count` lanes; the others are 0."""

    def generate(context, builder, signature, arguments):
        _, values, at, count = arguments
        places = places_of(context, builder, signature.args[1], values, at, registers.count, count)
        name, parts = f"llvm.masked.load.v{LANES}f64.p0", []
        for place, mask in zip(places, _lane_masks(builder, count, len(places)), strict=True):
            parts.append(_call(builder, name, REGISTER, [place, ir.Constant(INT32, 8), mask, _constant(0.0)]))
        return join(builder, parts)

    return Vectors(registers.count)(registers, array, types.int64, types.int64), generate


@_operation
def store_part(typing, array, at, count, value):
    """Writes the first `count` lanes of a value."""

    def generate(context, builder, signature, arguments):
        values, at, count, value = arguments
        parts = split(builder, value)
        places = places_of(context, builder, signature.args[0], values, at, len(parts), count)
        name, masks = f"llvm.masked.store.v{LANES}f64.p0", _lane_masks(builder, count, len(parts))
        for part, place, mask in zip(parts, places, masks, strict=True):
            _call(builder, name, ir.VoidType(), [part, place, ir.Constant(INT32, 8), mask])
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64, value), generate


@_operation
def broadcast(typing, registers, scalar):
    """The same number in all lanes."""

    def generate(context, builder, signature, arguments):
        return join(builder, [_splat(builder, arguments[1])] * registers.count)

    return Vectors(registers.count)(registers, types.float64), generate


@_operation
def repeat(typing, registers, array, at):
    """Element `at` of an array in all lanes."""

    def generate(context, builder, signature, arguments):
        scalar = _element(context, builder, signature.args[1], *arguments[1:])
        return join(builder, [_splat(builder, scalar)] * registers.count)

    return Vectors(registers.count)(registers, array, types.int64), generate


@_operation
def total(typing, x):
    """The sum over all lanes."""

    def generate(context, builder, signature, arguments):
        first, *others = split(builder, arguments[0])
        for other in others:
            first = builder.fadd(first, other)
        name = f"llvm.vector.reduce.fadd.v{LANES}f64"
        function = ir.FunctionType(DOUBLE, [DOUBLE, REGISTER])
        reduce = cgutils.get_or_insert_function(builder.module, function, name)
        return builder.call(reduce, [ir.Constant(DOUBLE, -0.0), first], fastmath=REORDER)

    return types.float64(x), generate


def _reduction(name: str, comparison: str) -> Any:
    """The extreme lane under a comparison."""

    def define(typing, x):
        def generate(context, builder, signature, arguments):
            first, *others = split(builder, arguments[0])
            for other in others:
                first = _select(builder, comparison, first, other)
            half = LANES // 2
            while half:
                turned = [(lane + half) % LANES for lane in range(LANES)]
                first = _select(builder, comparison, first, _shuffled(builder, first, first, turned))
                half //= 2
            return builder.extract_element(first, ir.Constant(INT32, 0))

        return types.float64(x), generate

    define.__name__ = name
    return _operation(define)


largest = _reduction("largest", ">")
lowest = _reduction("lowest", "<")

# lanes that hold separate problems: decisions by lane, transposed blocks ----------------------------------------------

LINE = 8  # doubles in a line of a cache


@_operation
def int_at(typing, array, number):
    """array[number] as an int64; `number` does not count from the end, which indexing would have to ask first."""

    def generate(context, builder, signature, arguments):
        return _widened(builder, _element(context, builder, signature.args[0], *arguments))

    return types.int64(array, types.int64), generate


@_operation
def upper_bits(typing, number, unused):
    """The bits of a number in single precision without the `unused` last ones, rounded to the nearest, ties to even."""

    def generate(context, builder, signature, arguments):
        number, unused = arguments
        unused, one = builder.trunc(unused, INT32), ir.Constant(INT32, 1)
        bits = builder.bitcast(builder.fptrunc(number, ir.FloatType()), INT32)
        half = builder.lshr(builder.shl(one, unused), one)  # of a step of the last bit that is kept
        odd = builder.and_(builder.lshr(bits, unused), one)
        down = builder.select(builder.icmp_signed(">", half, odd.type(0)), builder.sub(odd, one), odd.type(0))
        return builder.lshr(builder.add(bits, builder.add(half, down)), unused)

    return types.uint32(types.float64, types.int64), generate


@_operation
def from_upper_bits(typing, bits, unused):
    """The number of single precision with these bits, followed by `unused` zeros."""

    def generate(context, builder, signature, arguments):
        bits, unused = arguments
        whole = bits if bits.type == INT32 else builder.zext(bits, INT32)
        whole = builder.shl(whole, builder.trunc(unused, INT32))
        return builder.fpext(builder.bitcast(whole, ir.FloatType()), DOUBLE)

    return types.float64(bits, types.int64), generate


@_operation
def keep_rolled(typing):
    """Keeps LLVM from unrolling the loop around: of few passes, most would be in the loop for what is left over."""

    def generate(context, builder, signature, arguments):
        nothing = builder.asm(ir.FunctionType(ir.VoidType(), []), "", "", [], True)
        nothing.attributes.add("convergent")  # such calls stay where they are
        return context.get_dummy_value()

    return types.void(), generate


@_operation
def load_at(typing, registers, array, at, places, number):
    """The elements of an array from at + places[number] on."""

    def generate(context, builder, signature, arguments):
        _, array_type, _, places_type, _ = signature.args
        _, values, at, places, number = arguments
        first = builder.add(at, _widened(builder, _element(context, builder, places_type, places, number)))
        return join(builder, _load(context, builder, array_type, values, first, registers.count))

    return Vectors(registers.count)(registers, array, types.int64, places, types.int64), generate


@_operation
def prefetch(typing, registers, array, at):
    """Fetches the elements of an array from `at` on into the nearest cache, should they lie in the array."""

    def generate(context, builder, signature, arguments):
        data = context.make_array(signature.args[1])(context, builder, arguments[1]).data
        pointer = ir.IntType(8).as_pointer()
        flags = [ir.Constant(INT32, value) for value in (0, 3, 1)]  # to be read, often, data
        for n in range(0, registers.count * LANES, LINE):
            place = builder.gep(data, [builder.add(arguments[2], ir.Constant(arguments[2].type, n))])
            _call(builder, "llvm.prefetch.p0", ir.VoidType(), [builder.bitcast(place, pointer), *flags])
        return context.get_dummy_value()

    return types.void(registers, array, types.int64), generate


@_operation
def transpose(typing, source, at, stride, target, to, target_stride):
    """Copies `LANES` × `LANES` numbers: column n of the rows at + i · stride becomes the row to + n · stride."""

    def generate(context, builder, signature, arguments):
        values, at, stride, out, to, target_stride = arguments

        def places(array_type, array, start, step):
            rows = (builder.add(start, builder.mul(step, ir.Constant(step.type, n))) for n in range(LANES))
            return [places_of(context, builder, array_type, array, row, 1)[0] for row in rows]

        from_places = places(signature.args[0], values, at, stride)
        rows = [builder.load(place, align=8, typ=REGISTER) for place in from_places]
        half = LANES // 2
        while half:  # blocks of half × half beside the diagonal change places
            for n in range(LANES):
                if not n & half:
                    x, y = rows[n], rows[n + half]
                    rows[n], rows[n + half] = (_shuffled(builder, x, y, lanes) for lanes in _halves(half))
            half //= 2
        for row, place in zip(rows, places(signature.args[3], out, to, target_stride), strict=True):
            builder.store(row, place, align=8)
        return context.get_dummy_value()

    return types.void(source, types.int64, types.int64, target, types.int64, types.int64), generate


@_operation
def add_sums(typing, source, at, target, to):
    """Adds the sums of `LANES` times LANES / 2 numbers, from source[at] on, to the numbers from target[to] on."""

    def generate(context, builder, signature, arguments):
        values, at, out, to = arguments
        rows = _load(context, builder, signature.args[0], values, at, LANES // 2)
        half = LANES // 4
        while half:  # halves of all sums in two registers are added side by side, until each sum has one lane
            halves = [[n for n in range(2 * LANES) if n & half == odd] for odd in (0, half)]
            rows = [
                builder.fadd(*(_shuffled(builder, own, other, lanes) for lanes in halves))
                for own, other in zip(rows[::2], rows[1::2], strict=True)
            ]
            half //= 2
        (place,) = places_of(context, builder, signature.args[2], out, to, 1)
        builder.store(builder.fadd(builder.load(place, align=8, typ=REGISTER), rows[0]), place, align=8)
        return context.get_dummy_value()

    return types.void(source, types.int64, target, types.int64), generate


@_operation
def store_dot(typing, array, at, x, y):
    """Writes LANES / 2 numbers, whose sum is that of the products of all lanes of x and y."""

    def generate(context, builder, signature, arguments):
        values, at, *factors = arguments
        pairs = list(zip(*(split(builder, factor) for factor in factors), strict=True))
        chains = [builder.fmul(*pair) for pair in pairs[:2]]  # two: they wait for each other half as long as one
        for n, (own, other) in enumerate(pairs[2:]):
            chains[n % 2] = fused(builder, own, other, chains[n % 2])
        whole, half = builder.fadd(*chains) if len(chains) > 1 else chains[0], LANES // 2
        lanes = (ir.Constant(ir.VectorType(INT32, half), list(range(n, n + half))) for n in (0, half))
        sums = builder.fadd(*(builder.shuffle_vector(whole, whole, numbers) for numbers in lanes))
        check_bounds(context, builder, signature.args[0], values, at, ir.Constant(at.type, half))
        place = builder.gep(context.make_array(signature.args[0])(context, builder, values).data, [at])
        builder.store(sums, builder.bitcast(place, sums.type.as_pointer()), align=8)
        return context.get_dummy_value()

    return types.void(array, types.int64, x, y), generate


@_operation
def any_below(typing, x, y):
    """Whether x < y in some lane."""

    def generate(context, builder, signature, arguments):
        parts = zip(*(split(builder, argument) for argument in arguments), strict=True)
        first, *others = [builder.fcmp_ordered("<", a, b) for a, b in parts]
        for other in others:
            first = builder.or_(first, other)
        lanes = builder.bitcast(first, ir.IntType(LANES))
        return builder.icmp_unsigned("!=", lanes, ir.Constant(lanes.type, 0))

    return types.boolean(x, y), generate
