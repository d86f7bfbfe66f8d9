"""From weights to score tables and back to gradients, and the arrays that kernels take."""
