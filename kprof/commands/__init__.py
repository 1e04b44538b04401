"""One file a subcommand, with a click command named ``command``; ``analyze_arguments`` is what analyze takes."""
