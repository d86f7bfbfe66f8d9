"""What the reference says of every word of the language, from the tables that the checker reads."""
