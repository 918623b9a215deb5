"""An order is a saga: it ships once payment and stock are there, or is undone after 30 seconds.

Each order is one delayed operation, watched under two keys.  Whoever hears of a payment or a
reservation checks its key and knows nothing of the other half; the purgatory's clock knows
nothing of either.  Exactly one of shipping and undoing happens, whatever comes first.
"""

from __future__ import annotations

from collections import Counter

from flinkish.purgatory import DelayedOperation, DelayedOperationPurgatory

EXPIRES_AFTER_MS = 30_000


class Shop:
    """What orders change: stock, money, and the books."""

    def __init__(self, stock: int) -> None:
        self.stock = stock
        self.money = 0
        self.books: Counter[str] = Counter()
        self.shipped_at: dict[int, int] = {}
        self.now_ms = 0


class Order(DelayedOperation):
    """Waits for its payment and for its stock."""

    __slots__ = ("number", "paid", "price", "reserved", "shop")

    def __init__(self, shop: Shop, number: int, price: int) -> None:
        super().__init__(EXPIRES_AFTER_MS)
        self.shop = shop
        self.number = number
        self.price = price
        self.paid = False
        self.reserved = False

    @property
    def keys(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """Under which events it is found."""
        return ("payment", self.number), ("stock", self.number)

    def try_complete(self) -> bool:
        """Ship it if both are there."""
        return self.force_complete() if self.paid and self.reserved else False

    def on_complete(self) -> None:
        """Ship it; or it expired, and is undone by `on_expiration`, which comes next."""
        if self.paid and self.reserved:
            self.shop.books["shipped"] += 1
            self.shop.shipped_at[self.number] = self.shop.now_ms

    def on_expiration(self) -> None:
        """Undo the half that was done."""
        if self.paid:
            self.shop.money -= self.price
            self.shop.books["expired, payment returned"] += 1
        elif self.reserved:
            self.shop.stock += 1
            self.shop.books["expired, stock released"] += 1
        else:
            self.shop.books["expired, nothing had come"] += 1


class Counterparties:
    """The payment provider and the warehouse, as the shop hears of them."""

    def __init__(self, shop: Shop, pending: DelayedOperationPurgatory) -> None:
        self.shop = shop
        self.pending = pending
        self.open: dict[int, Order] = {}

    def place(self, order: Order) -> None:
        """A customer orders."""
        self.open[order.number] = order
        self.pending.try_complete_else_watch(order, order.keys)

    def payment(self, number: int) -> None:
        """A payment arrives; one for an order that is gone is turned away."""
        order = self.open[number]
        if order.is_completed():
            self.shop.books["payments turned away"] += 1
            return
        order.paid = True
        self.shop.money += order.price
        self.pending.check_and_complete(("payment", number))

    def reservation(self, number: int) -> None:
        """The warehouse put something aside, unless the order is gone."""
        order = self.open[number]
        if order.is_completed():
            self.shop.books["reservations turned away"] += 1
            return
        order.reserved = True
        self.shop.stock -= 1
        self.pending.check_and_complete(("stock", number))
