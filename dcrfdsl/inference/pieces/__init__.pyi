from .local_normalisation import largest_piece as largest_piece
