"""Jobs: programs of many operators and sinks, run over batch DataFrames or as one query.

Owns: sessions for programs, inputs, rounds over rows, jobs and what ends them.
Uses: ``streams``, whose operators a program is made of.
Must not: know how a program was written; `flinkish.environment` does.
"""
