"""What holds a kernel back: a verdict from counters, with the numbers behind it."""
