"""Two reports beside each other: what is different about them, what changed, and what explains the change. Pure."""
