"""The session of a program."""

from pyspark.sql import SparkSession

from flinkish.spark.jobs.session import session_for


def test_a_copy_of_the_session_does_not_become_that_of_programs(spark: SparkSession) -> None:
    """As in a foreachBatch function: createDataFrame makes its session the active one."""
    spark.range(3).createOrReplaceTempView("of_the_session")
    try:
        copy = spark.newSession()
        copy.createDataFrame([(1,)], "n int")
        assert SparkSession.getActiveSession() is copy
        assert session_for({}, "test").table("of_the_session").count() == 3
    finally:
        spark.createDataFrame([(1,)], "n int")  # the active one again
        spark.catalog.dropTempView("of_the_session")
