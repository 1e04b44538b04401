"""The timing block: which timer to believe, the headline, and what to know before using it."""
