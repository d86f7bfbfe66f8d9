from .separate_pieces import build_pieces as build_pieces
