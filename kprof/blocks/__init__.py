"""The blocks of a report: each file holds one block's record and the pure function that makes it from a capture."""
