"""NE16, the convolution accelerator: weight packing, jobs, and the execution module."""
