"""The columns of what lattices count for each sequence, [S, COLUMNS]. Not here: who reads them (`inference.base`)."""

POSSIBLE = 0  #  labels that are possible, over all positions
LABELS = 1  #    of these, kept
EDGES = 2  #     edges of the last level
EARLY = 3  #     1 + the level after which the gold labels were pruned; 0 where they survived
RELAXED = 4  #   how often pruning was relaxed
POSITIONS = 5  # positions of the sequence
COLUMNS = 6
