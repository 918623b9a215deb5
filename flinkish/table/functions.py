"""PyFlink's module of its own aggregates, whose names are refused with the way that works."""

from flinkish.common.lazy import refused_names

__getattr__ = refused_names(
    __name__,
    "AvgAggFunction Count1AggFunction CountAggFunction DecimalSum0AggFunction "
    "FirstValueAggFunction FirstValueWithRetractAggFunction FloatSum0AggFunction "
    "IntSum0AggFunction LastValueAggFunction LastValueWithRetractAggFunction ListAggFunction "
    "ListAggWithRetractAggFunction ListAggWsWithRetractAggFunction MaxAggFunction "
    "MaxWithRetractAggFunction MinAggFunction MinWithRetractAggFunction Sum0AggFunction "
    "SumAggFunction SumWithRetractAggFunction WelfordM2AggFunction",
    "aggregates of SQL are Spark's: sum, avg, count, first_value, ...; yours are AggregateFunction",
)

__all__: list[str] = []
