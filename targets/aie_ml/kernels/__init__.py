"""Generated kernels: what they are, how operands are packed, what they compute."""
