"""Did the kernel do the work that it was timed for? The checks, each from evidence alone, and the block."""
