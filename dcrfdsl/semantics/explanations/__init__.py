"""Pages that explain each diagnostic: what it means and what to do."""
