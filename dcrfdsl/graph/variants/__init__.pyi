from .clamping import clamped_graph as clamped_graph
