"""Templates written in Python: `Template` and the words for its statements.

    from dcrfdsl import Template
    from dcrfdsl.template import bias, bio, gaussian, lower, segments

    m = Template("chunker", doc="Linear-chain NP chunker.")
    word, pos, _ = m.data("conll", "word", "pos", "chunk")
    chunk = m.label("chunk", bio("NP"), others="O")
    token = m.features("token", lower(word).window(-2, 2), pos[-1] & pos, word.has("[0-9]"), min_count=2)
    m.clique(chunk, features=[bias, token])
    m.clique(chunk[-1], chunk, name="chain")
    m.train("likelihood", prior=gaussian(variance=10))
    m.evaluate(segments(chunk))

    spec = m.spec()  # the specification of the template
    print(m.text())  # … and the template itself

The language in Python:

| template | Python |
|---|---|
| `word[-1]`, `word[-2..2]`, `word[-2, 0, 2]` | `word[-1]`, `word.window(-2, 2)`, `word[-2, 0, 2]` |
| `word[i-1]`, `y[all]` | `i, j = positions("i", "j")`, then `word[i - 1]`; `y[...]` |
| `a & b` | `a & b` |
| `a and b`, `a or b`, `not a` | `a & b` or `all_of(a, b)`, `a \\| b`, `~a` |
| `word matches /[A-Z]+/`, `word has /-/i` | `word.matches("[A-Z]+")`, `word.has("-", ignore_case=True)` |
| `pos is NN`, `pos in {NN, NNS}`, `word in places` | `pos.is_("NN")`, `pos.in_("NN", "NNS")`, `word.in_(places)` |
| `word[i] = word[j]`, `a != b` | `word[i] == word[j]`, `a != b` |
| `a if c else b` | `if_else(a, c, b)` |
| `prefix(word, 1..4)` | `prefix(word, 1, 4)` |
| `trp(tolerance = 1e-3)` | `call("trp", tolerance=1e-3)` |
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
