from .piece_likelihood import PieceObjective as PieceObjective
from .separate_pieces import PiecesApart as PiecesApart, build_pieces as build_pieces
