"""Gates: thresholds and baselines against a report as plain values, and the verdicts. Pure: no file is read."""
