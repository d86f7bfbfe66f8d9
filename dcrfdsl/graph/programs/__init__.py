"""Programs of exact inference: elimination orders, contraction steps, periods of long sequences."""
