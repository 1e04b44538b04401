"""One file a subcommand, each with a click command named ``command``."""
