"""Orders that wait for payment and stock, half a million at once; ``python -m examples.orders``."""
