"""PyFlink's details of explanations, which Spark's plans do not have."""

from enum import Enum

__all__ = ["ExplainDetail"]


class ExplainDetail(Enum):
    """More that Flink says of a plan."""

    ESTIMATED_COST = 0
    CHANGELOG_MODE = 1
    JSON_EXECUTION_PLAN = 2
    PLAN_ADVICE = 3
