"""Templates of growing size: for each kind of statement, n statements, or one with n items.

Each case is a function of n; compiling its template should cost no more than n log n. Cases whose name ends in `_wrong`
contain n mistakes. Not here: the measurement of the growth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

DATA = "data conll(word, pos, y)\n"
LABEL = "label y in {A, B}\n"
CHAIN = DATA + LABEL + "clique y[-1], y\n"


def _lines(n: int, line: str) -> str:
    """`line` n times, with `{k}` replaced by the number of the line and `{b}` by the number before it."""
    return "".join(line.format(k=k, b=k - 1) + "\n" for k in range(1, n + 1))


def _listed(n: int, item: str, joint: str = ", ") -> str:
    return joint.join(item.format(k=k) for k in range(n))


def _labels(n: int) -> str:
    return f"data conll(word, {_listed(n, 'y{k}')})\n" + "".join(f"label y{k} in {{A, B}}\n" for k in range(n))


def labels(n: int) -> str:
    return _labels(n) + "".join(f"clique y{k}: bias\n" for k in range(n))


def labels_with_options(n: int) -> str:
    names = f"data conll(word, {_listed(n, 'y{k}')})\n"
    return names + "".join(f"label y{k} in {{A, B}} with others = O\nclique y{k}\n" for k in range(n))


def labels_joined(n: int) -> str:
    return _labels(n) + "".join(f"clique y{k}, y{k + 1}\n" for k in range(n - 1))


def latents(n: int) -> str:
    return CHAIN + _lines(n, "latent z{k} in 2\nclique y, z{k}")


def latents_tied_in_turn(n: int) -> str:
    return (
        CHAIN + "".join(f"latent z{k} in 2\n" for k in range(n)) + _lines(n - 1, "clique z{b}, z{k}") + "clique y, z0\n"
    )


def states_of_each_other(n: int) -> str:
    return CHAIN + "latent z0 in {A, B}\nclique y, z0\n" + _lines(n, "latent z{k} in states(z{b})\nclique y, z{k}")


def states_of_each_other_backwards(n: int) -> str:
    text = "".join(f"latent z{k} in states(z{k + 1})\nclique y, z{k}\n" for k in range(n))
    return CHAIN + text + f"latent z{n} in {{A, B}}\nclique y, z{n}\n"


def memories(n: int) -> str:
    return CHAIN + _lines(n, "memory m{k} = y[-1] is A or m{k}[-1]\nclique y, m{k}")


def memories_in_turn(n: int) -> str:
    return CHAIN + "memory m0 = y[-1] is A\n" + _lines(n, "memory m{k} = m{b}[-1]") + f"clique y, m{n}\n"


def memories_that_borrow(n: int) -> str:
    first = "memory m0 in states(y) = y[-1] initially A\n"
    return CHAIN + first + _lines(n, "memory m{k} in states(m{b}) = m{b}[-1] initially A") + f"clique y, m{n}\n"


def memories_and_forbids(n: int) -> str:
    return CHAIN + _lines(n, "memory m{k} = y[-1] is A\nclique y, m{k}\nforbid m{k} and y is B as f{k}")


def views(n: int) -> str:
    return CHAIN + _lines(n, "view v{k} = prefix(y, 1)\nclique v{k}: bias\nforbid v{k} is A")


def lexicons(n: int) -> str:
    return CHAIN + _lines(n, 'lexicon l{k} = "l{k}.txt"\nclique y: word in l{k}')


def groups(n: int) -> str:
    return CHAIN + _lines(n, "features f{k} with min_count = 2: word[-1..1], lower(pos), word & pos\nclique y: f{k}")


def groups_chained(n: int) -> str:
    return CHAIN + "features f0: word\n" + _lines(n, "features f{k}: f{b}, pos[{k}]") + f"clique y: f{n}\n"


def groups_doubling(n: int) -> str:
    return CHAIN + "features f0: word\n" + _lines(n, "features f{k}: f{b}, f{b}[1]") + f"clique y: f{n}\n"


def groups_squaring(n: int) -> str:
    return CHAIN + "features f0: word[-5..5]\n" + _lines(n, "features f{k}: f{b} & f{b}") + f"clique y: f{n}\n"


def groups_in_a_circle(n: int) -> str:
    return CHAIN + f"features f0: f{n}\n" + _lines(n, "features f{k}: f{b}, word") + "clique y: f0\n"


def groups_of_one(n: int) -> str:
    return (
        CHAIN
        + "features f: word, pos\n"
        + _lines(n, "features g{k}: f, f[1]")
        + f"clique y: {_listed(n, 'g{k}')}\n".replace("g0, ", "")
    )


def cliques_of_one(n: int) -> str:
    return CHAIN + _lines(n, "clique y as c{k}: word[-1..1], pos & word")


def cliques_of_two(n: int) -> str:
    return CHAIN + _lines(n, "clique y[-1], y as c{k} with states = all: word")


def cliques_unnamed(n: int) -> str:
    return CHAIN + _lines(n, "clique y[-1], y: word")


def clique_of_many(n: int) -> str:
    return _labels(n) + f"clique {_listed(n, 'y{k}')}\n"


def cliques_relational(n: int) -> str:
    return CHAIN + _lines(n, "clique y[i], y[j] where word[i] = word[j] as c{k} with max_gap = 5: pos[i]")


def pieces(n: int) -> str:
    return (
        CHAIN
        + _lines(n, "clique y: word as_{k}".replace(" as_{k}", ""))
        + _lines(n, "clique y[-1], y as c{k}\npiece p{k} over y: c{k}")
    )


def piece_of_many(n: int) -> str:
    return CHAIN + _lines(n, "clique y as c{k}: word") + f"piece p over y: {_listed(n, 'c{k}')}\n".replace(" c0,", "")


def piece_over_many(n: int) -> str:
    cliques = "".join(f"clique y{k} as c{k}\n" for k in range(n))
    return _labels(n) + cliques + f"piece p over {_listed(n, 'y{k}')}: {_listed(n, 'c{k}')}\ntrain piecewise(p)\n"


def forbids(n: int) -> str:
    return CHAIN + _lines(n, "forbid y[-{k}] is A and y is B".replace("{k}", "1"))


def forbids_of_states(n: int) -> str:
    states = _listed(n, "S{k}")
    return f"data conll(word, y)\nlabel y in {{{states}}}\nclique y\n" + "".join(
        f"forbid y is S{k}\n" for k in range(n - 1)
    )


def forbids_far(n: int) -> str:
    return CHAIN + "".join(f"forbid y[-{1 + k % 999}] is A and y[-{k // 999 % 9}] is B\n" for k in range(n))


def forbids_of_data(n: int) -> str:
    return CHAIN + _lines(n, "forbid y is A and word is w{k}")


def forbids_of_labels(n: int) -> str:
    return labels(n) + "".join(f"forbid y{k} is A and y{k + 1} is B\n" for k in range(n - 1))


def forbids_of_schemes(n: int) -> str:
    names = f"data conll(word, {_listed(n, 'y{k}')})\n"
    return names + "".join(
        f"label y{k} in bio(X)\nclique y{k}\nforbid y{k}[-1] is O and y{k} is I-X\n" for k in range(n)
    )


def requires(n: int) -> str:
    return CHAIN + _lines(n, "require y is A when word is w{k} as r{k}")


def lets(n: int) -> str:
    return CHAIN + _lines(n, "let k{k} = {k}\nfeatures f{k} with min_count = k{k}: word") + "clique y: word\n"


def lets_chained(n: int) -> str:
    return CHAIN + "let k0 = 2\n" + _lines(n, "let k{k} = k{b}\nfeatures f{k} with min_count = k{k}: word")


def lets_in_a_circle(n: int) -> str:
    return CHAIN + f"let k0 = k{n}\n" + _lines(n, "let k{k} = k{b}\nfeatures f{k} with min_count = k{k}: word")


def stages(n: int) -> str:
    return CHAIN + _lines(n, "train likelihood as s{k}: prior = gaussian(variance = {k})")


def stages_chained(n: int) -> str:
    return CHAIN + "train likelihood as s0\n" + _lines(n, "train likelihood as s{k} after s{b}")


def stages_memm(n: int) -> str:
    return CHAIN + "train memm as s0\n" + _lines(n, "train memm as s{k} after s{b}")


def stages_in_a_circle(n: int) -> str:
    return CHAIN + f"train likelihood as s0 after s{n}\n" + _lines(n, "train likelihood as s{k} after s{b}")


def priors(n: int) -> str:
    text = CHAIN + _lines(n, "clique y as c{k}: word") + "train likelihood:\n"
    return text + _lines(n, "    prior.c{k} = gaussian(variance = {k})")


def metrics(n: int) -> str:
    return CHAIN + f"evaluate {_listed(n, 'accuracy(y)')}\n"


def columns(n: int) -> str:
    return f"data conll(word, {_listed(n, 'c{k}')}, y)\n{LABEL}clique y: {_listed(n, 'c{k}')}\n"


def many_states(n: int) -> str:
    return f"data conll(word, y)\nlabel y in {{{_listed(n, 'S{k}')}}}\nclique y: word\n"


def many_features(n: int) -> str:
    return CHAIN + "features f:\n" + "".join(f"    word is w{k}\n" for k in range(n)) + "clique y: f\n"


def a_long_set(n: int) -> str:
    return CHAIN + f"clique y: word in {{{_listed(n, 'w{k}')}}}\n"


def a_long_set_of_states(n: int) -> str:
    states = _listed(n, "S{k}")
    return f"data conll(word, y)\nlabel y in {{{states}}}\nclique y\nforbid y in {{{_listed(n - 1, 'S{k}')}}}\n"


def a_long_or(n: int) -> str:
    return CHAIN + f"clique y: ({_listed(n, 'word is w{k}', ' or ')})\n"


def a_long_forbid(n: int) -> str:
    return CHAIN + f"forbid y is A and ({_listed(n, 'word is w{k}', ' or ')})\n"


def a_long_forbid_of_labels(n: int) -> str:
    return CHAIN + f"forbid {_listed(n, 'y is A', ' or ')}\n"


def a_long_where(n: int) -> str:
    joined = _listed(n, "lower(word)[i] = lower(word)[j]", " and ")
    return CHAIN + f"clique y[i], y[j] where {joined}\n"


def a_long_memory(n: int) -> str:
    return CHAIN + f"memory m = {_listed(n, 'y[-1] is A', ' or ')}\nclique y, m\n"


def a_long_view(n: int) -> str:
    return (
        CHAIN
        + f"view v = A if {_listed(n, 'y is A', ' or ')} else B\nclique v\nforbid {_listed(n, 'v is A', ' or ')}\n"
    )


def comments(n: int) -> str:
    return CHAIN + _lines(n, "# {k}\n## {k}\nclique y as c{k}:  # {k}\n    # {k}\n    word  # {k}")


def names_wrong(n: int) -> str:
    return CHAIN + f"clique y: {_listed(n, 'unknown{k}')}\n"


def names_of_groups_wrong(n: int) -> str:
    return CHAIN + _lines(n, "features f{k}: unknown{k}, wort") + f"clique y: f{n}\n"


def functions_wrong(n: int) -> str:
    return CHAIN + _lines(n, "clique y: unknown{k}(word)")


def states_wrong(n: int) -> str:
    return many_states(n) + "".join(f"forbid y is T{k}\n" for k in range(n))


def sites_wrong(n: int) -> str:
    return CHAIN + _lines(n, "clique x{k}, y")


def kinds_wrong(n: int) -> str:
    return CHAIN + _lines(n, "clique y: y")


def sites_twice_wrong(n: int) -> str:
    return CHAIN + f"clique {_listed(n, 'y')}\n"


def twice_wrong(n: int) -> str:
    return CHAIN + _lines(n, "label y in {{A, B}} with others = O")


def names_twice_wrong(n: int) -> str:
    return CHAIN + _lines(n, "features f: word, pos[{k}]")


def columns_twice_wrong(n: int) -> str:
    return f"data conll({_listed(n, 'word')}, y)\n{LABEL}clique y: word\n"


def labels_no_columns_wrong(n: int) -> str:
    return "data conll(word, y)\n" + _lines(n, "label x{k} in {{A, B}}\nclique x{k}")


def columns_and_labels_wrong(n: int) -> str:
    return columns(n) + _lines(n, "label x{k} in {{A, B}}\nclique x{k}")


def options_wrong(n: int) -> str:
    return CHAIN + _lines(n, "clique y as c{k} with sates = all: word")


def constants_wrong(n: int) -> str:
    return CHAIN + _lines(n, "let k{k} = 1\nfeatures f{k} with min_count = l{k}: word")


def cliques_of_pieces_wrong(n: int) -> str:
    return CHAIN + _lines(n, "clique y as c{k}: word\npiece p{k} over y: d{k}")


def priors_wrong(n: int) -> str:
    text = CHAIN + _lines(n, "clique y as c{k}: word") + "train likelihood:\n"
    return text + _lines(n, "    prior.d{k} = gaussian(variance = {k})")


def settings_wrong(n: int) -> str:
    return CHAIN + "train likelihood:\n" + _lines(n, "    q{k} = 1")


def metrics_wrong(n: int) -> str:
    return labels(n) + f"evaluate {_listed(n, 'accuracy(x{k})')}\n"


def stages_wrong(n: int) -> str:
    return CHAIN + _lines(n, "train likelyhood as s{k} after t{k}")


def unused_wrong(n: int) -> str:
    return CHAIN + _lines(n, "memory m{k} = y[-1] is A\nlatent z{k} in 2")


def syntax_wrong(n: int) -> str:
    return CHAIN + _lines(n, "features f{k}: word word")


def lost_and_names_wrong(n: int) -> str:
    return CHAIN + _lines(min(n, 90), "features f{k}: word word, name{k}") + _lines(n, "clique y: unknown{k}")


def regexes_wrong(n: int) -> str:
    return CHAIN + _lines(n, "clique y: word matches /[{k}/")


def windows_wrong(n: int) -> str:
    return CHAIN + _lines(n, "clique y: word[2..-2]")


def contradictions_wrong(n: int) -> str:
    return CHAIN + _lines(n, "forbid y is A or y is B\nforbid y is A and y[-1] is B\nrequire y is A")


CASES: Mapping[str, Callable[[int], str]] = {
    name: case
    for name, case in list(globals().items())
    if callable(case) and not name.startswith("_") and getattr(case, "__module__", "") == __name__
}
