"""What a summary says of each part of a report, one module a subject; `summary` has them in order."""
