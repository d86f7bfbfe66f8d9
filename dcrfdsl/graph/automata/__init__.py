"""Models as automata: composite states, and the moves between them that have a potential of their own."""
