"""Runs ncu for the calls of both sides and gathers what it reports; where it does not deliver, a fault says why."""
