"""Sources and sinks of programs, as builders onto Spark's own.

Owns: files, Kafka and numbers, and the formats of their records.
Uses: ``spark.jobs``, whose inputs they describe.
Must not: load pyspark before a job starts.
"""
