"""The least that the task asks for: bytes and FLOP of one call of the reference, counted from its operators."""
