"""From template files, overrides or Python to one specification."""
