"""How long a call takes, by every timer that serves."""
