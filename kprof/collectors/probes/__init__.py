"""Builds the probes of kernels/probes, runs them, and has ncu profile them. None of it needs torch."""
