"""Processes that kprof starts: what of the environment they get, how they are watched and ended, where they scribble.

What runs in them, user code above all, is never trusted to end by itself, to stay small or to clean up.
"""
