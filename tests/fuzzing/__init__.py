"""Random models, what judges them, and what cuts a failing one down to a few nodes."""
