"""Dynamic Conditional Random Fields: a declarative modelling language and its engine.

Everything public is here and is loaded when it is first asked for, so that `import dcrfdsl` costs next to nothing:

    import dcrfdsl

    m = dcrfdsl.Model("chunker")                      # a template written in Python (see `dcrfdsl.builder`)
    resolved = dcrfdsl.load_template("chunker.dcrf")  # or one read from a file
    spec = resolved.require()                         # the specification, or every problem of the file at once
    problems = dcrfdsl.check(resolved)                # errors, warnings and notes; `fit` asks for them as well
    corpus = dcrfdsl.read_corpus("train.txt", spec.data)
    trained = dcrfdsl.fit(resolved, corpus)           # `m.resolved()` does as well
    trained.save("chunker.model")                     # and `dcrfdsl.load` reads it
"""

import lazy_loader

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
