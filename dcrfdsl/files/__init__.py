"""Files written whole or not at all, places for caches, and checks of stored arrays."""
