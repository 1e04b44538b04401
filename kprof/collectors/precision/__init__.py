"""Is the kernel right: trials with fresh values, compared with the reference and with its float64 run."""
