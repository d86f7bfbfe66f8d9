"""What the feature lists of a specification ask for, window by window, before any data."""
