"""kprof: correctness, timing and roofline analysis of GPU kernels written for PyTorch."""

__version__ = "0.1.0"
