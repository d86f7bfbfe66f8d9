"""How inference on one sequence ended, as kernels return it. Not here: what a user is told of it (`inference`)."""

__all__ = ["BROKEN", "GAVE_UP", "IMPOSSIBLE", "OK", "UNDERFLOW"]

OK = 0
UNDERFLOW = 1  # linear space does not hold the numbers: again with logarithms
IMPOSSIBLE = 2  # no labelling has a positive potential
GAVE_UP = 3  # a search ended by its budget: whether there is a labelling is not known
BROKEN = 4  # a labelling was found that has no positive potential: a search must mend it
