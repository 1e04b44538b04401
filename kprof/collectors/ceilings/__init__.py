"""Measured roofs: what a device reaches in programs that do nothing but that."""
