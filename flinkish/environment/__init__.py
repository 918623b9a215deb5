"""Programs as PyFlink writes them: an environment, streams, and jobs that run on Spark.

Owns: the graph of a program, PyFlink's streams and environment, and the run of a graph.
Uses: ``spark``, when a program is executed.
Must not: load pyspark before that.
"""
