"""Rules of the checker, and the checker that asks them all."""
