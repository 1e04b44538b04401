"""compute-sanitizer: where it is, how it is started, what its log says, and the call of the kernel that it watches."""
