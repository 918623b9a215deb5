"""What each query must give: the same over the whole data at once, in plain Spark SQL.

The queries bear Nexmark's numbers.  Where the original leaves a tie open (the last of two bids of
one millisecond) it is broken here, so that there is one right answer; q12 counts by the clock of
the wall, so only what its windows add up to can be compared.
"""

from __future__ import annotations

_RANKS = "price < 10000", "price >= 10000 AND price < 1000000", "price >= 1000000"
_RANK_COUNTS = ", ".join(f"count_if({rank}) AS rank{n}" for n, rank in enumerate(_RANKS, 1))


def _distinct(column: str) -> str:
    of_all = f"count(DISTINCT {column}) AS {column}s"
    by_rank = [
        f"count(DISTINCT CASE WHEN {rank} THEN {column} END) AS rank{n}_{column}s"
        for n, rank in enumerate(_RANKS, 1)
    ]
    return ", ".join([of_all, *by_rank])


SQL = {
    # pass through
    "q0": "SELECT auction, bidder, price, ts FROM bid",
    # currency: dollars to euros
    "q1": "SELECT auction, bidder, price * 0.908D AS price, ts FROM bid",
    # selection
    "q2": "SELECT auction, price FROM bid WHERE auction % 123 = 0",
    # hot items: the auctions with the most bids of the last ten seconds, every two seconds
    "q5": """
        WITH counts AS (
            SELECT auction, count(*) AS bids, window.end AS ends
            FROM bid GROUP BY auction, window(ts, '10 seconds', '2 seconds')
        )
        SELECT auction, bids, ends FROM counts
        WHERE (ends, bids) IN (SELECT ends, max(bids) FROM counts GROUP BY ends)
    """,
    # highest bid of every ten seconds
    "q7": """
        WITH windowed AS (SELECT *, window(ts, '10 seconds').end AS ends FROM bid)
        SELECT auction, bidder, price, ts FROM windowed
        WHERE (ends, price) IN (SELECT ends, max(price) FROM windowed GROUP BY ends)
    """,
    # new users who put something up within the ten seconds in which they registered
    "q8": """
        SELECT p.id, p.name, p.starts
        FROM (SELECT DISTINCT id, name, window(ts, '10 seconds').start AS starts FROM person) p
        JOIN (SELECT DISTINCT seller, window(ts, '10 seconds').start AS starts FROM auction) a
        ON p.id = a.seller AND p.starts = a.starts
    """,
    # bids per user and session
    "q11": """
        SELECT bidder, count(*) AS bids, session_window.start AS starts, session_window.end AS ends
        FROM bid GROUP BY bidder, session_window(ts, '10 seconds')
    """,
    # bids per user and ten seconds of processing time
    "q12": "SELECT bidder, count(*) AS bids FROM bid GROUP BY bidder",
    # a bounded side table
    "q13": """
        SELECT auction, bidder, price, ts, value
        FROM bid JOIN side ON auction % 10000 = side.key
    """,
    # calculation
    "q14": """
        SELECT auction, bidder, price * 0.908D AS price,
            CASE WHEN hour(ts) BETWEEN 8 AND 18 THEN 'day'
                 WHEN hour(ts) <= 6 OR hour(ts) >= 20 THEN 'night' ELSE 'other' END AS time_of_day,
            ts, length(url) - length(replace(url, 'c', '')) AS c_count
        FROM bid WHERE price * 0.908D > 1000000 AND price * 0.908D < 50000000
    """,
    # statistics of channels, per day
    "q16": f"""
        SELECT channel, date_format(ts, 'yyyy-MM-dd') AS day,
            max(date_format(ts, 'HH:mm')) AS minute, count(*) AS bids, {_RANK_COUNTS},
            {_distinct("bidder")}, {_distinct("auction")}
        FROM bid GROUP BY channel, day
    """,
    # statistics of auctions, per day
    "q17": f"""
        SELECT auction, date_format(ts, 'yyyy-MM-dd') AS day, count(*) AS bids, {_RANK_COUNTS},
            min(price) AS lowest, max(price) AS highest, avg(price) AS average, sum(price) AS total
        FROM bid GROUP BY auction, day
    """,
    # last bid of every user on every auction
    "q18": """
        SELECT auction, bidder, price, ts FROM (
            SELECT *, row_number() OVER (
                PARTITION BY bidder, auction ORDER BY ts DESC, price DESC) AS place FROM bid)
        WHERE place = 1
    """,
    # ten highest bids of every auction
    "q19": """
        SELECT auction, bidder, price, ts, place FROM (
            SELECT *, row_number() OVER (
                PARTITION BY auction ORDER BY price DESC, ts, bidder) AS place FROM bid)
        WHERE place <= 10
    """,
    # folders of an address
    "q22": """
        SELECT auction, bidder, price, channel, split_part(url, '/', 4) AS dir1,
            split_part(url, '/', 5) AS dir2, split_part(url, '/', 6) AS dir3
        FROM bid
    """,
}
