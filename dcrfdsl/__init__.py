"""Dynamic Conditional Random Fields: a declarative modelling language and its engine.

A template says which labels of a sequence depend on each other, and by which features. Training fits its weights to
labelled data, and the model tags new text. The template is a `.dcrf` file, or is written in Python:

    from dcrfdsl import Template, fit, read_corpus
    from dcrfdsl.template import bias, bio

    m = Template("address")
    word, _ = m.data("conll", "word", "part")
    part = m.label("part", bio("STREET", "TOWN"))
    m.clique(part, features=[bias, word.window(-1, 1)]), m.clique(part[-1], part)
    model = fit(m, read_corpus("address.txt", m.spec().data))
    model.save("address.model")

Where to look:

    templates     dcrfdsl.load_template, dcrfdsl.load_text, dcrfdsl.Template, dcrfdsl.to_text; help(dcrfdsl.template)
    data          dcrfdsl.read_corpus, dcrfdsl.corpus_from_rows, dcrfdsl.corpus_from_frame
    training      dcrfdsl.check, dcrfdsl.fit, dcrfdsl.tune, dcrfdsl.Checkpoint, dcrfdsl.open_parts
    models        dcrfdsl.load, dcrfdsl.TrainedModel: predict, marginals, nbest, sample, evaluate, save
    scikit-learn  dcrfdsl.sklearn.SequenceTagger, dcrfdsl.sklearn.CRF
    pipelines     dcrfdsl.spacy for spaCy; dcrfdsl.transformers.Decoder, dcrfdsl.torch.Layer, dcrfdsl.jax for networks
    figures       dcrfdsl.plot for matplotlib; model.report for a page
    your own      dcrfdsl.feature marks feature functions, dcrfdsl.InferenceMethod is the base of inference methods
    problems      dcrfdsl.DcrfError, dcrfdsl.DcrfWarning
    notebooks     `%load_ext dcrfdsl` adds the cell magic `%%dcrf`; objects show themselves

`help(dcrfdsl.fit)` describes one of them. In a terminal, `dcrfdsl --help` lists the commands, `dcrfdsl explain WORD`
prints any statement, function, setting, method or message, and `dcrfdsl new` lists ready templates.
"""

import gc
import sys
from typing import Any

import lazy_loader

__version__ = "0.1.0"
# Every name is loaded when it is first asked for, so that `import dcrfdsl` costs next to nothing.
_load, __dir__, _offered = lazy_loader.attach_stub(__name__, __file__)
# IPython asks for these two, programs do not.
_names = [name for name in _offered if not name.endswith("_ipython_extension")]


def __getattr__(name: str) -> Any:
    """Loads a public name. `help(dcrfdsl)` is not told `__all__`: it would print every class, thousands of lines."""
    if name == "__all__" and sys._getframe(1).f_globals.get("__name__") != "pydoc":
        return _names
    collects = gc.isenabled()
    gc.disable()  # the engine consists of 200,000 objects that stay: to look for garbage among them takes a tenth more
    try:
        return _load(name)
    finally:
        if collects:
            gc.enable()
