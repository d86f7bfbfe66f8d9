"""Messages of a forest that stay from one change to the next, for expectation propagation.

A message of a forest depends on the potentials behind it alone. So where a term changes q along its walk, only messages
that lead away from the walk become unknown, and only those that somebody asks for are computed anew. A message that is
unknown makes all that depend on it unknown; marking them ends where they are already. Every computation is paid for by
a marking, so a sweep over terms in the order of the tree costs a few messages a term (Minka & Qi 2003, section 3), and
not the whole forest. Not here: sums over all of a walk (`forest_walks`).
"""

from typing import NamedTuple

import numpy as np

from ...foundation import Ints, Mask
from ..runtime import inner
from ..tables import copy_run
from .forest_walks import from_log, normalise_run, plus, times, walk_term


class KeptMessages(NamedTuple):
    """Which messages in the tables of the whole forest are those of its potentials as they are now.

    An entry of `stack` is an item i ≥ 0, for its message up, or −1 − n, for the message down to variable n.
    """

    up: Mask  #     [items]      from each item to the variable above it
    down: Mask  #   [variables]  to each variable from the item above it
    stack: Ints  #  [items + variables]
    inside: Mask  # [items]      those of the walk that is looked at, else no


@inner
def know_all(whole, walks, kept):
    """After a sum over the whole forest all messages are known."""
    kept.up[: walks.walk_item[whole + 1] - walks.walk_item[whole]] = True
    kept.down[: walks.walk_var[whole + 1] - walks.walk_var[whole]] = True


@inner
def _unknown(entry, kept, height):
    """Marks a message as unknown, and puts it on the stack if it was known. Returns the height of the stack."""
    if entry >= 0:
        if not kept.up[entry]:
            return height
        kept.up[entry] = False
    else:
        if not kept.down[-1 - entry]:
            return height
        kept.down[-1 - entry] = False
    kept.stack[height] = entry
    return height + 1


@inner
def _unknown_below(i, but, whole, walks, kept, height):
    """Marks the messages of item i to the variables below it, but one."""
    item = walks.walk_item[whole] + i
    for a in range(walks.item_arity[item]):
        n = walks.scope[walks.item_scope[item] + a]
        if a != walks.item_axis[item] and n != but:
            height = _unknown(-1 - n, kept, height)
    return height


@inner
def _unknown_from(n, came, whole, walks, kept, height):
    """Marks the messages that variable n has a part in, but those back through the item `came` below it (−1: none)."""
    u = walks.walk_var[whole] + n
    if walks.above[u] >= 0:
        height = _unknown(walks.above[u], kept, height)
        height = _unknown_below(walks.above[u], n, whole, walks, kept, height)
    for child in range(walks.child_first[u], walks.child_last[u]):
        if child != came:
            height = _unknown_below(child, -1, whole, walks, kept, height)
    return height


@inner
def forget(w, whole, walks, full_of, item_of, kept):
    """After a change of the potentials on walk w: marks all messages that depend on them."""
    height = 0
    for item in range(walks.walk_item[w], walks.walk_item[w + 1]):
        i = item_of[walks.item_tree[item]]
        height = _unknown(i, kept, height)
        height = _unknown_below(i, -1, whole, walks, kept, height)
    for u in range(walks.walk_var[w], walks.walk_var[w + 1]):
        height = _unknown_from(full_of[walks.var[u]], -1, whole, walks, kept, height)
    i0, u0 = walks.walk_item[whole], walks.walk_var[whole]
    while height > 0:
        height -= 1
        entry = kept.stack[height]
        if entry >= 0:
            parent = walks.scope[walks.item_scope[i0 + entry] + walks.item_axis[i0 + entry]]
            height = _unknown_from(parent, entry, whole, walks, kept, height)
        else:
            u = u0 - 1 - entry
            for child in range(walks.child_first[u], walks.child_last[u]):
                height = _unknown_below(child, -1, whole, walks, kept, height)


@inner
def _wanted_below(n, but, whole, walks, kept, height):
    """Puts the unknown messages to variable n from the items below it on the stack, but one."""
    u = walks.walk_var[whole] + n
    for child in range(walks.child_first[u], walks.child_last[u]):
        if child != but and not kept.up[child]:
            kept.stack[height] = child
            height += 1
    return height


@inner
def _wanted(i, target, whole, walks, kept, height):
    """Puts the unknown messages on the stack that go into the one of item i to the variable `target` of its scope."""
    item = walks.walk_item[whole] + i
    for a in range(walks.item_arity[item]):
        n = walks.scope[walks.item_scope[item] + a]
        if a != target:
            is_above = a == walks.item_axis[item]
            height = _wanted_below(n, i if is_above else -1, whole, walks, kept, height)
            if is_above and walks.above[walks.walk_var[whole] + n] >= 0 and not kept.down[n]:
                kept.stack[height] = -1 - n
                height += 1
    return height


@inner
def _send(i, target, whole, walks, cards, longest, full, redo):
    """Computes the message of item i to the variable `target` of its scope. Returns whether it is not 0."""
    item, u0 = walks.walk_item[whole] + i, walks.walk_var[whole]
    scope, arity, axis = walks.item_scope[item], walks.item_arity[item], walks.item_axis[item]
    nothing = from_log(-np.inf, redo)
    for a in range(arity):
        if a == target:
            continue
        u = u0 + walks.scope[scope + a]
        at = walks.var_local[u]
        for x in range(cards[walks.var[u]]):
            value = full.node[at + x]
            if a == axis and walks.above[u] >= 0:
                value = times(value, full.down[at + x], redo)
            for child in range(walks.child_first[u], walks.child_last[u]):
                if child != i:
                    value = times(value, full.up[child * longest + x], redo)
            full.raised[at + x] = value
    receiver = u0 + walks.scope[scope + target]
    states = cards[walks.var[receiver]]
    full.coming[:states] = nothing
    start = walks.item_local[item]
    for j in range(walks.item_size[item]):
        if full.table[start + j] != nothing:
            state, term = walk_term(j, full.table[start + j], item, target, u0, walks, cards, full.raised, redo)
            full.coming[state] = plus(full.coming[state], term, redo)
    possible = normalise_run(full.coming, 0, states, redo) > -np.inf
    if target == axis:
        copy_run(full.coming, 0, states, full.up[i * longest :])
    else:
        copy_run(full.coming, 0, states, full.down[walks.var_local[receiver] :])
    return possible


@inner
def _know(entry, whole, walks, cards, longest, full, kept, redo):
    """Computes a message and all unknown ones that it needs. Returns whether none of them is 0."""
    if (entry >= 0 and kept.up[entry]) or (entry < 0 and kept.down[-1 - entry]):
        return True
    kept.stack[0], height = entry, 1
    while height > 0:
        top = kept.stack[height - 1]
        i = top if top >= 0 else walks.above[walks.walk_var[whole] - 1 - top]
        item = walks.walk_item[whole] + i
        target = walks.item_axis[item]
        if top < 0:
            for a in range(walks.item_arity[item]):
                if walks.scope[walks.item_scope[item] + a] == -1 - top:
                    target = a
        higher = _wanted(i, target, whole, walks, kept, height)
        if higher > height:
            height = higher
            continue
        if not _send(i, target, whole, walks, cards, longest, full, redo):
            return False
        if top >= 0:
            kept.up[top] = True
        else:
            kept.down[-1 - top] = True
        height -= 1
    return True


@inner
def messages_around(w, whole, walks, sites, full, full_of, item_of, kept, outside, redo):
    """What the rest of the forest says to the variables of a walk, into `outside` [states of the walk].

    Returns whether that is possible at all.
    """
    (_, cards, longest), inside, one = sites, kept.inside, from_log(0.0, redo)
    f0 = walks.walk_var[whole]
    for item in range(walks.walk_item[w], walks.walk_item[w + 1]):
        inside[item_of[walks.item_tree[item]]] = True
    possible = True
    for u in range(walks.walk_var[w], walks.walk_var[w + 1]):
        n = full_of[walks.var[u]]
        at, other = walks.var_local[u], f0 + n
        is_below = walks.above[other] >= 0 and not inside[walks.above[other]]
        possible = possible and (not is_below or _know(-1 - n, whole, walks, cards, longest, full, kept, redo))
        for child in range(walks.child_first[other], walks.child_last[other]):
            if not inside[child]:
                possible = possible and _know(child, whole, walks, cards, longest, full, kept, redo)
        if not possible:
            break
        for x in range(cards[walks.var[u]]):
            value = full.down[walks.var_local[other] + x] if is_below else one
            for child in range(walks.child_first[other], walks.child_last[other]):
                if not inside[child]:
                    value = times(value, full.up[child * longest + x], redo)
            outside[at + x] = value
    for item in range(walks.walk_item[w], walks.walk_item[w + 1]):
        inside[item_of[walks.item_tree[item]]] = False
    return possible
