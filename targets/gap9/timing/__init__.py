"""Simulated cycles of the chip's parts, independent of every cost model."""
