"""Half a million orders pending at once, on a clock that is moved by hand, checked by NumPy.

    python -m examples.orders [--orders N] [--seed N]

All orders come within five seconds of simulated time, and payments and reservations take longer
than that, so that all are pending together.  Some never come.  Exits with 0 if every order ended
as NumPy says that it must, with 1 if not.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from examples.orders.saga import EXPIRES_AFTER_MS, Counterparties, Order, Shop
from flinkish.purgatory import DelayedOperationPurgatory, ManualTimer

STEP_MS = 10
PLACED_WITHIN_MS = 5_000
NEVER = 2**40


def happenings(rng: np.random.Generator, orders: int) -> dict[str, np.ndarray]:
    """When each order is placed, paid and reserved (ms), and its price."""
    placed = np.sort(rng.integers(0, PLACED_WITHIN_MS // STEP_MS, orders)) * STEP_MS

    def after(median_ms: float, missing: float) -> np.ndarray:
        took = PLACED_WITHIN_MS + rng.lognormal(np.log(median_ms), 0.7, orders)
        took = took.astype(np.int64) // STEP_MS * STEP_MS
        return np.where(rng.random(orders) < missing, NEVER, placed + took)

    return {
        "placed": placed,
        "paid": after(12_000, 0.05),
        "reserved": after(6_000, 0.02),
        "price": rng.integers(100, 10_000, orders),
    }


def in_order(times: np.ndarray) -> tuple[list[int], list[int]]:
    """Numbers of orders in the order of their times, and where each step of time begins."""
    numbers = np.argsort(times, kind="stable")
    steps = np.arange(0, PLACED_WITHIN_MS + EXPIRES_AFTER_MS + 2 * STEP_MS, STEP_MS)
    return numbers.tolist(), np.searchsorted(times[numbers], steps).tolist()


def main(given: list[str] | None = None) -> int:
    """Run the shop; 0 if it is right."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--orders", type=int, default=500_000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    asked = parser.parse_args(given)
    if asked.orders < 1:
        parser.error("--orders must be at least 1")

    what = happenings(np.random.default_rng(asked.seed), asked.orders)
    prices = what["price"].tolist()
    placed, paid, reserved = (in_order(what[name]) for name in ("placed", "paid", "reserved"))
    timer, shop = ManualTimer(), Shop(stock=asked.orders)
    most = 0
    began = time.perf_counter()
    with DelayedOperationPurgatory("orders", timer=timer, reaper_enabled=False) as pending:
        others = Counterparties(shop, pending)
        for step in range(len(placed[1]) - 1):
            # What expires now has expired before anything else happens now.
            shop.now_ms = step * STEP_MS
            pending.advance_clock(shop.now_ms - timer.now_ms)
            for number in placed[0][placed[1][step] : placed[1][step + 1]]:
                others.place(Order(shop, number, prices[number]))
            most = max(most, pending.num_delayed())
            for number in paid[0][paid[1][step] : paid[1][step + 1]]:
                others.payment(number)
            for number in reserved[0][reserved[1][step] : reserved[1][step + 1]]:
                others.reservation(number)
        statistics = pending.statistics()
    took = time.perf_counter() - began

    print(f"{asked.orders:,} orders; {most:,} were pending at once; {took:.1f} s")
    print(f"  ({asked.orders / took:,.0f} orders/s, {timer.now_ms / 1000 / took:.1f} × real time)")
    for line, count in sorted(shop.books.items()):
        print(f"  {count:>9,}  {line}")
    print(f"  {shop.money:>9,}  taken, for {len(shop.shipped_at):,} orders shipped")

    wrong = differences(what, shop, asked.orders)
    if statistics.watched or statistics.errors or statistics.completed != asked.orders:
        wrong.append(f"the purgatory is not done: {statistics}")
    for line in wrong:
        print(f"WRONG: {line}")
    if wrong:
        return 1
    print("Right: NumPy finds the same orders shipped at the same times, the same stock and money.")
    return 0


def differences(what: dict[str, np.ndarray], shop: Shop, orders: int) -> list[str]:
    """How the shop's books differ from what must have happened."""
    end = what["placed"] + EXPIRES_AFTER_MS
    both = np.maximum(what["paid"], what["reserved"])
    ships = both < end
    paid, reserved = what["paid"] < end, what["reserved"] < end
    expected = {
        "shipped": ships,
        "expired, payment returned": paid & ~reserved,
        "expired, stock released": reserved & ~paid,
        "expired, nothing had come": ~paid & ~reserved,
    }
    wrong = [
        f"{shop.books[name]:,} orders {name}, not {int(which.sum()):,}"
        for name, which in expected.items()
        if shop.books[name] != which.sum()
    ]
    shipped_at = dict(zip(np.flatnonzero(ships).tolist(), both[ships].tolist(), strict=True))
    if shop.shipped_at != shipped_at:
        wrong.append("other orders were shipped, or at other times")
    if shop.money != what["price"][ships].sum():
        wrong.append(f"{shop.money:,} were taken, not {what['price'][ships].sum():,}")
    if shop.stock != orders - ships.sum():
        wrong.append(f"{shop.stock:,} are in stock, not {orders - ships.sum():,}")
    return wrong


if __name__ == "__main__":
    raise SystemExit(main())
