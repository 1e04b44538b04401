"""Nsight Compute: reading what it measured, and running it."""
