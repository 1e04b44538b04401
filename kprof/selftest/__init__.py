"""kprof's own numbers held against probes whose work is known by construction."""
