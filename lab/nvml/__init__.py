"""A stand-in for NVIDIA's GPUs and their driver: the driver's management library, and what a machine shows of both."""
