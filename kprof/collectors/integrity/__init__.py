"""Did the kernel do the work it was timed for? Evidence from timed calls, the process and the source."""
