from .integrations import Layer as Layer, SequenceDistribution as SequenceDistribution
