"""The roofline of a report as a picture: what stands on it, where, and in which colours; matplotlib is here alone."""
