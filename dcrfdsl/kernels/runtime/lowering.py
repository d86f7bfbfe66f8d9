"""Lowers what kernels consist of, elements of arrays and loops over ranges, in a few instructions each.

Numba spends some 30 instructions on an element of an array and 100 on a loop: it copies the array's fields to the
stack, and asks again whatever an instruction before has asked. LLVM removes nearly all of it, but to write, parse and
remove it took a third of the compile time. Everything else is left to Numba. Not here: the stages (`linked_functions`).
"""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir as llvm
from numba import types
from numba.core import cgutils, config

from .numba_internals import Lower

MEMORY, PARENT, WIDTH, DATA, SHAPE, STRIDES = 0, 1, 3, 4, 5, 6  # fields of an array


UNCOUNTED = (types.Number, types.Boolean, types.RangeType, types.RangeIteratorType)


def _is_number(kind: Any) -> bool:
    return isinstance(kind, (types.Number, types.Boolean))


def _kinds(index: Any) -> Any:
    return getattr(index, "types", (index,))  # of a tuple its parts


def _is_plain(array: Any, index: Any) -> bool:
    """Whether the index consists of integers and of slices without a step, each for an axis of its own."""
    return (
        isinstance(array, types.Array)
        and array.layout in "CA"
        and _is_number(array.dtype)
        and 0 < len(_kinds(index)) <= array.ndim
        and all(isinstance(kind, types.Integer) or kind == types.slice2_type for kind in _kinds(index))
        and not config.BOUNDSCHECK
    )


class LeanLower(Lower):
    """Numba's lowering, with shorter code for the most frequent operations."""

    def _least(self, x: Any, y: Any) -> Any:
        return self.builder.select(self.builder.icmp_signed("<", x, y), x, y)

    def _wrapped(self, number: Any, size: Any) -> Any:
        """Negative numbers count from the end."""
        if isinstance(number, llvm.Constant) and number.constant >= 0:
            return number
        add, is_negative = self.builder.add(number, size), self.builder.icmp_signed("<", number, number.type(0))
        return self.builder.select(is_negative, add, number)

    def _part(self, array_type: Any, array: Any, index_type: Any, index: Any) -> tuple[Any, list[Any], list[Any]]:
        """Where the part of an array begins; its shape and its strides."""
        builder, several = self.builder, isinstance(index_type, types.BaseTuple)
        shape, strides = (cgutils.unpack_tuple(builder, builder.extract_value(array, n)) for n in (SHAPE, STRIDES))
        kinds = _kinds(index_type)
        at, left, steps, none = None, [], [], shape[0].type(0)
        for axis, size in enumerate(shape):
            kind: Any = kinds[axis] if axis < len(kinds) else None
            start = none
            if kind is not None:
                start = builder.extract_value(index, axis) if several else index
            if kind is not None and kind != types.slice2_type:
                start = self.context.cast(builder, start, kind, types.intp if kind.signed else types.uintp)
                start = self._wrapped(start, size) if kind.signed else start
            else:
                length = size
                if kind is not None:
                    start, stop = (self._wrapped(builder.extract_value(start, n), size) for n in range(2))
                    start, stop = (
                        builder.select(builder.icmp_signed("<", number, none), none, self._least(number, size))
                        for number in (start, stop)
                    )
                    length = builder.sub(stop, self._least(start, stop))
                left.append(length)
                steps.append(strides[axis])
            if array_type.layout == "A":
                start = builder.mul(start, strides[axis])
            elif at is not None:
                at = builder.mul(at, size)
            at = start if at is None else builder.add(at, start)
        data = builder.extract_value(array, DATA)
        place = cgutils.pointer_add(builder, data, at) if array_type.layout == "A" else builder.gep(data, [at])
        return place, left, steps

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        array, at = self.typeof(value.name), self.typeof(index.name)
        if not _is_plain(array, at):
            return super().lower_getitem(resty, expr, value, index, signature)
        builder, whole = self.builder, self.loadvar(value.name)
        place, shape, strides = self._part(array, whole, at, self.loadvar(index.name))
        kind = signature.return_type
        if shape:
            memory, parent, width = (builder.extract_value(whole, n) for n in (MEMORY, PARENT, WIDTH))
            fields = [memory, parent, functools.reduce(builder.mul, shape), width, place]
            fields += [cgutils.pack_array(builder, each) for each in (shape, strides)]
            element = cgutils.make_anonymous_struct(builder, fields, self.context.get_value_type(kind))
            self.incref(kind, element)
        elif isinstance(array.dtype, types.Boolean):  # in the array a byte
            element = builder.load(place)
            element = builder.icmp_unsigned("!=", element, element.type(0))
        else:
            element = self.context.unpack_value(builder, array.dtype, place, align=None if array.aligned else 1)
        return self.context.cast(builder, element, kind, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        array, at, kind = (self.typeof(var.name) for var in (target_var, index_var, value_var))
        slices = sum(not isinstance(each, types.Integer) for each in _kinds(at)) + array.ndim - len(_kinds(at))
        if not (_is_plain(array, at) and _is_number(kind) and slices <= 1):
            return super().lower_setitem(target_var, index_var, value_var, signature)
        builder, context = self.builder, self.context
        place, shape, strides = self._part(array, self.loadvar(target_var.name), at, self.loadvar(index_var.name))
        value = context.cast(builder, self.loadvar(value_var.name), kind, array.dtype)
        align = None if array.aligned else 1
        if not shape:
            return context.pack_value(builder, array.dtype, value, place, align=align)
        is_row = array.layout == "C" and (len(_kinds(at)) < array.ndim or _kinds(at)[-1] == types.slice2_type)
        with cgutils.for_range(builder, shape[0]) as loop:
            if is_row:
                cell = builder.gep(place, [loop.index])
            else:
                cell = cgutils.pointer_add(builder, place, builder.mul(loop.index, strides[0]))
            context.pack_value(builder, array.dtype, value, cell, align=align)

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        kind, lower = _EXPRESSIONS.get(expr.op, (types.NoneType, None))
        if lower is None or not isinstance(self.typeof(expr.value.name), kind):
            return super().lower_expr(resty, expr)
        value = lower(self.builder, self.loadvar(expr.value.name))
        if kind is types.Pair:
            self.incref(resty, value)
        return value

    def delvar(self, name: str) -> None:
        if self.context.enable_nrt:
            super().delvar(name)
        elif name not in self._blk_local_varmap:
            self._singly_assigned_vars.discard(name)

    def incref(self, typ: Any, val: Any) -> None:
        for kind, value in self._counted(typ, val):
            super().incref(kind, value)

    def decref(self, typ: Any, val: Any) -> None:
        for kind, value in self._counted(typ, val):
            super().decref(kind, value)

    def _counted(self, kind: Any, value: Any) -> Any:
        """What is counted of a value, with its type: of an array the memory alone."""
        if not self.context.enable_nrt or isinstance(kind, UNCOUNTED):
            return
        if isinstance(kind, types.Array):
            yield types.MemInfoPointer(kind.dtype), self.builder.extract_value(value, MEMORY)
        elif isinstance(kind, types.BaseTuple):
            for n, each in enumerate(_kinds(kind)):
                if not isinstance(each, UNCOUNTED):
                    yield from self._counted(each, self.builder.extract_value(value, n))
        else:
            yield kind, value


def _iterator(builder: Any, state: Any) -> Any:
    """The iterator of a range: where it is, where it ends, its step and how many steps are left."""
    start, stop, step = (builder.extract_value(state, n) for n in range(3))
    one, none = step.type(1), step.type(0)
    forward = builder.icmp_signed(">", step, none)
    whole = builder.add(builder.sub(stop, start), builder.sub(step, builder.select(forward, one, one.type(-1))))
    count = builder.sdiv(whole, step)
    count = builder.select(builder.icmp_signed(">", count, none), count, none)
    now, left = (cgutils.alloca_once(builder, step.type) for _ in range(2))
    builder.store(start, now)
    builder.store(count, left)
    return cgutils.make_anonymous_struct(builder, [now, stop, step, left])


def _next(builder: Any, iterator: Any) -> Any:
    """The next number of a range, and whether there is one."""
    now, step, left = (builder.extract_value(iterator, n) for n in (0, 2, 3))
    number, count = builder.load(now), builder.load(left)
    builder.store(builder.add(number, step), now)
    builder.store(builder.sub(count, count.type(1), flags=["nsw"]), left)
    return cgutils.make_anonymous_struct(builder, [number, builder.icmp_signed(">", count, count.type(0))])


_EXPRESSIONS: dict[str, tuple[Any, Any]] = {
    "pair_first": (types.Pair, lambda builder, pair: builder.extract_value(pair, 0)),
    "pair_second": (types.Pair, lambda builder, pair: builder.extract_value(pair, 1)),
    "getiter": (types.RangeType, _iterator),
    "iternext": (types.RangeIteratorType, _next),
}
