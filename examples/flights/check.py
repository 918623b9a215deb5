"""The same alerts by other means: plain pandas over all flights at once, no flinkish, no Spark.

Where the streamed job keeps a state and a timer for each aircraft and handles row after row, this
looks at the whole year: in which batch each departure is seen, in which batch the watermark
passes the end of each silence, and which of the two comes first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

MINUTE = pd.Timedelta(minutes=1)
HOUR = pd.Timedelta(hours=1)
LATE = ["tailnum", "carrier", "flight", "origin", "dest", "departure", "behind_minutes"]
FLIGHT = ["tailnum", "carrier", "origin", "dest"]


@dataclass(frozen=True)
class Expected:
    """What the job must give."""

    alerts: pd.DataFrame
    returned: pd.DataFrame
    late: pd.DataFrame
    without_tailnum: int
    registered: int
    cancelled: int
    armed: int  # timers left at the end
    watermark: pd.Timestamp  # at the end


def expected(
    flights: pd.DataFrame,
    days: pd.Series,
    *,
    days_per_batch: int,
    threshold: pd.Timedelta,
    wait: pd.Timedelta,
) -> Expected:
    """Compute the outputs from the flights and the day on which each is reported.

    Batch n has the n-th `days_per_batch` files, a file for each day on which there are reports.
    It sees the watermark of the batches before it: Spark's is the latest event time less `wait`,
    and Flink's one millisecond less than that, so time t has passed, and a row at t is late, once
    t is *before* Spark's.  A batch without data follows the last one.
    """
    rows = flights.assign(
        batch=(days.rank(method="dense").astype(int) - 1) // days_per_batch,
        departure=flights["time_hour"]
        + (flights["minute"] + flights["dep_delay"].fillna(0)).astype(float) * MINUTE,
    )
    latest = rows.groupby("batch")["departure"].max().cummax()
    # seen[n]: what batch n sees; the first sees none, the one without data is the last.
    seen = pd.concat([pd.Series([pd.NaT], dtype=latest.dtype), latest - wait], ignore_index=True)
    rows["watermark"] = rows["batch"].map(seen)

    named = rows[rows["tailnum"].notna()]
    is_late = named["departure"] < named["watermark"]
    late = named[is_late].copy()
    late["behind_minutes"] = (late["watermark"] - late["departure"]) // MINUTE

    # Departures that are news, per aircraft as they are seen: batch by batch, by time in each.
    seen_in_time = named[~is_late & named["dep_time"].notna()].sort_values(
        ["tailnum", "batch", "departure"], kind="stable"
    )
    newest = seen_in_time.groupby("tailnum")["departure"].cummax()
    newest_before = newest.groupby(seen_in_time["tailnum"]).shift()
    news = seen_in_time[~(seen_in_time["departure"] <= newest_before)].copy()

    # Each begins a silence, which the next one ends; in its batch timers fire before rows.
    following = news.groupby("tailnum")
    news["next"] = following["departure"].shift(-1)
    news["next_carrier"] = following["carrier"].shift(-1)
    last_batch = len(seen) - 1
    news["next_batch"] = following["batch"].shift(-1).fillna(last_batch)
    news["raised_at"] = news["departure"] + threshold
    ends = seen.iloc[1:].to_numpy()
    news["fires_in"] = 1 + np.searchsorted(ends, news["raised_at"].to_numpy(), side="right")
    fired = news[news["fires_in"] <= news["next_batch"]].copy()

    fired["last_departure"] = fired["departure"]
    known = fired["fires_in"].map(seen)
    fired["silent_hours"] = (known - fired["departure"]) // HOUR
    alerts = fired[[*FLIGHT, "last_departure", "raised_at", "silent_hours"]]

    back = fired[fired["next"].notna()].copy()
    back["carrier"] = back["next_carrier"]
    back["returned_at"] = back["next"]
    back["silent_hours"] = (back["next"] - back["departure"]) // HOUR
    returned = back[["tailnum", "carrier", "last_departure", "returned_at", "silent_hours"]]

    # A silence that neither fired nor was ended is a timer still set.
    armed = int((news["next"].isna() & ~news.index.isin(fired.index)).sum())
    return Expected(
        alerts=alerts,
        returned=returned,
        late=late[LATE],
        without_tailnum=int(rows["tailnum"].isna().sum()),
        registered=len(news),
        cancelled=len(news) - len(fired) - armed,
        armed=armed,
        watermark=seen.iloc[-1],
    )


def differences(want: pd.DataFrame, got: pd.DataFrame) -> pd.DataFrame:
    """The rows of only one of two tables, duplicates counted; empty if the tables are equal."""
    columns = list(want.columns)
    if list(got.columns) != columns:
        raise ValueError(f"the tables have the columns {columns} and {list(got.columns)}")
    sides = []
    for side in (want, got):
        side = side.copy()
        for name in columns:
            if isinstance(side[name].dtype, pd.DatetimeTZDtype):
                side[name] = side[name].dt.tz_convert("UTC").astype("datetime64[us, UTC]")
            elif pd.api.types.is_numeric_dtype(side[name]):
                side[name] = side[name].astype("int64")
            else:
                side[name] = side[name].astype(object)
        side["copy"] = side.groupby(columns).cumcount()
        sides.append(side)
    both = sides[0].merge(sides[1], how="outer", on=[*columns, "copy"], indicator="found")
    both["found"] = both["found"].map(
        {"left_only": "only pandas", "right_only": "only the stream", "both": "both"}
    )
    return both[both["found"] != "both"].drop(columns="copy").sort_values(columns)
