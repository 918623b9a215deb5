"""Functions as people write them for PyFlink, after the one change: their imports.

Each file imports what a PyFlink program would, from ``flinkish.`` in place of ``pyflink.``.
"""
