"""What conditions, terms, functions and lexicons give on the values of a corpus."""
