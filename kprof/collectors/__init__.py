"""Collectors: they run things in the worker and record evidence; what it means is for analysis to say."""
