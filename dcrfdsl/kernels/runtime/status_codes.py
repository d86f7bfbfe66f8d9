"""How inference on one sequence ended, as kernels return it. Not here: the messages to users (`inference`)."""

OK = 0
UNDERFLOW = 1  # linear space does not hold the numbers (or the workspace the sequence): another kernel must answer
IMPOSSIBLE = 2  # no labelling has a positive potential
GAVE_UP = 3  # a search ran out of its budget: whether a labelling exists is unknown
BROKEN = 4  # the labelling that was read off has potential zero: a search must mend it
