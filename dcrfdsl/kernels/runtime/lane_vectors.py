"""Operations of machine vectors whose lanes hold separate problems: decisions by lane, and transposed blocks.

See `machine_vectors` for the type and its other operations.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.extending import intrinsic

from .cpu import LANES
from .machine_vectors import INT32, INT64, REGISTER, Vectors, check_bounds, fused, join, places_of, split

LINE = 8  # doubles in a line of a cache

if config.DISABLE_JIT:
    from .interpreted_vectors import (
        add_sums as add_sums,
        any_below as any_below,
        choose_below as choose_below,
        dot as dot,
        fold as fold,
        int_at as int_at,
        keep_rolled as keep_rolled,
        load_at as load_at,
        prefetch as prefetch,
        transpose as transpose,
    )
else:

    @intrinsic
    def int_at(typing, array, number):
        """array[number] as an int64; `number` does not count from the end, which indexing would have to ask first."""

        def generate(context, builder, signature, arguments):
            array, number = arguments
            check_bounds(context, builder, signature.args[0], array, number, ir.Constant(number.type, 1))
            data = context.make_array(signature.args[0])(context, builder, array).data
            value = builder.load(builder.gep(data, [number]))
            return builder.sext(value, INT64) if value.type != INT64 else value

        return types.int64(array, types.int64), generate

    @intrinsic
    def keep_rolled(typing):
        """Keeps LLVM from unrolling the loop around: of few passes, most would be in the loop for what is left over."""

        def generate(context, builder, signature, arguments):
            nothing = builder.asm(ir.FunctionType(ir.VoidType(), []), "", "", [], True)
            nothing.attributes.add("convergent")  # such calls stay where they are
            return context.get_dummy_value()

        return types.void(), generate

    @intrinsic
    def load_at(typing, registers, array, at, places, number):
        """The elements of an array from at + places[number] on."""

        def generate(context, builder, signature, arguments):
            _, array_type, _, places_type, _ = signature.args
            _, values, at, places, number = arguments
            check_bounds(context, builder, places_type, places, number, ir.Constant(number.type, 1))
            place = builder.load(builder.gep(context.make_array(places_type)(context, builder, places).data, [number]))
            first = builder.add(at, builder.sext(place, at.type) if place.type != at.type else place)
            return join(
                builder,
                [
                    builder.load(part, align=8, typ=REGISTER)
                    for part in places_of(context, builder, array_type, values, first, registers.count)
                ],
            )

        return Vectors(registers.count)(registers, array, types.int64, places, types.int64), generate

    @intrinsic
    def prefetch(typing, registers, array, at):
        """Fetches the elements of an array from `at` on into the nearest cache, should they lie in the array."""

        def generate(context, builder, signature, arguments):
            data = context.make_array(signature.args[1])(context, builder, arguments[1]).data
            pointer = ir.IntType(8).as_pointer()
            flags = [ir.Constant(INT32, value) for value in (0, 3, 1)]  # to be read, often, data
            function = ir.FunctionType(ir.VoidType(), [pointer, INT32, INT32, INT32])
            fetch = cgutils.get_or_insert_function(builder.module, function, "llvm.prefetch.p0")
            for n in range(0, registers.count * LANES, LINE):
                place = builder.gep(data, [builder.add(arguments[2], ir.Constant(arguments[2].type, n))])
                builder.call(fetch, [builder.bitcast(place, pointer), *flags])
            return context.get_dummy_value()

        return types.void(registers, array, types.int64), generate

    @intrinsic
    def transpose(typing, source, at, stride, target, to, target_stride):
        """Copies `LANES` × `LANES` numbers: column n of the rows at + i · stride becomes the row to + n · stride."""

        def generate(context, builder, signature, arguments):
            values, at, stride, out, to, target_stride = arguments

            def places(array_type, array, start, step):
                rows = (builder.add(start, builder.mul(step, ir.Constant(step.type, n))) for n in range(LANES))
                return [places_of(context, builder, array_type, array, row, 1)[0] for row in rows]

            rows = [
                builder.load(place, align=8, typ=REGISTER) for place in places(signature.args[0], values, at, stride)
            ]
            half = LANES // 2
            while half:  # blocks of half × half beside the diagonal change places
                low = [n if not n & half else n - half + LANES for n in range(LANES)]
                high = [n + half if not n & half else n + LANES for n in range(LANES)]
                for n in range(LANES):
                    if not n & half:
                        rows[n], rows[n + half] = (
                            builder.shuffle_vector(
                                rows[n], rows[n + half], ir.Constant(ir.VectorType(INT32, LANES), order)
                            )
                            for order in (low, high)
                        )
                half //= 2
            for row, place in zip(rows, places(signature.args[3], out, to, target_stride), strict=True):
                builder.store(row, place, align=8)
            return context.get_dummy_value()

        return types.void(source, types.int64, types.int64, target, types.int64, types.int64), generate

    @intrinsic
    def add_sums(typing, source, at, target, to):
        """Adds the sum of each of `LANES` registers, from source[at] on, to a number of its own from target[to] on."""

        def generate(context, builder, signature, arguments):
            values, at, out, to = arguments
            places = places_of(context, builder, signature.args[0], values, at, LANES)
            rows = [builder.load(place, align=8, typ=REGISTER) for place in places]
            half = LANES // 2
            while half:  # halves of two registers are added side by side, until lane n holds the sum of register n
                low = [n if not n & half else n - half + LANES for n in range(LANES)]
                high = [n + half if not n & half else n + LANES for n in range(LANES)]
                rows = [
                    builder.fadd(
                        *(
                            builder.shuffle_vector(own, other, ir.Constant(ir.VectorType(INT32, LANES), order))
                            for order in (low, high)
                        )
                    )
                    for own, other in zip(rows[:half], rows[half:], strict=True)
                ]
                half //= 2
            (place,) = places_of(context, builder, signature.args[2], out, to, 1)
            builder.store(builder.fadd(builder.load(place, align=8, typ=REGISTER), rows[0]), place, align=8)
            return context.get_dummy_value()

        return types.void(source, types.int64, target, types.int64), generate

    @intrinsic
    def choose_below(typing, x, y, value, other):
        """`value` in the lanes where x < y, `other` in the rest."""

        def generate(context, builder, signature, arguments):
            parts = zip(*(split(builder, argument) for argument in arguments), strict=True)
            return join(
                builder, [builder.select(builder.fcmp_ordered("<", a, b), own, rest) for a, b, own, rest in parts]
            )

        return x(x, y, value, other), generate

    @intrinsic
    def dot(typing, x, y):
        """The sum of the products of all registers of x and y, a single register."""

        def generate(context, builder, signature, arguments):
            pairs = list(zip(*(split(builder, argument) for argument in arguments), strict=True))
            chains = [builder.fmul(*pair) for pair in pairs[:2]]  # two: they wait for each other half as long as one
            for n, (own, other) in enumerate(pairs[2:]):
                chains[n % 2] = fused(builder, own, other, chains[n % 2])
            return join(builder, [builder.fadd(*chains) if len(chains) > 1 else chains[0]])

        return Vectors(1)(x, y), generate

    @intrinsic
    def fold(typing, x):
        """The sum of all registers of x, a single register."""

        def generate(context, builder, signature, arguments):
            parts = split(builder, arguments[0])
            while len(parts) > 1:
                pairs = zip(parts[::2], parts[1::2], strict=False)
                parts = [*(builder.fadd(*pair) for pair in pairs), *parts[len(parts) // 2 * 2 :]]
            return join(builder, parts)

        return Vectors(1)(x), generate

    @intrinsic
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
