"""The process that user code runs in: what it is asked, what it answers, and how it is watched.

``protocol`` and ``supervisor`` belong to the command's side and import no torch; ``__main__`` and ``stages`` run inside
the worker.
"""
