"""Networks of the tests and benchmarks: generated here, with random weights of fixed seeds."""

from tests.networks.store import FLOAT, IMAGES, POWERS, SHIPPED, TWINS, network

__all__ = ["FLOAT", "IMAGES", "POWERS", "SHIPPED", "TWINS", "network"]
