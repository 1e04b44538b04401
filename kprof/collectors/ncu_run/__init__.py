"""Runs Nsight Compute: what it is asked, how it is started, and from how it ended why it did not deliver."""
