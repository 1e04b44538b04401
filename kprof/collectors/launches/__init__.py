"""What a call launches, and its device spans, from one session of the profiler."""
