"""``python -m kprof`` is the same command as ``kprof``."""

from kprof.cli import main

if __name__ == "__main__":
    main()
