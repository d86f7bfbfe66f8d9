"""Optimizers made for one criterion: perceptron, boosting, iterative scaling, counting."""
