"""Flink's formats of records: how bytes become elements and elements bytes, without Spark."""
