"""Fetches that wait for enough bytes, and produces; ``python -m examples.long_poll``."""
