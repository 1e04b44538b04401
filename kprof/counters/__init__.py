"""ncu's metric names, and the quantities that analysis makes of them."""
