"""Support tickets, generated: the same seed gives the same tickets, anywhere."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

# What a ticket is about, and texts that give it away.
TOPICS = {
    "billing": ("charged twice", "invoice for {month} is wrong", "refund has not arrived"),
    "login": ("cannot sign in", "password reset link expired", "locked out after an update"),
    "bug": ("crashes when I export", "page stays blank", "error 500 since {month}"),
    "shipping": ("parcel never arrived", "tracking stopped in {city}", "wrong item delivered"),
    "feature": ("please add dark mode", "need an export to CSV", "wish for single sign-on"),
}
URGENT = ("production is down", "our launch is today", "I have asked three times")
CALM = ("no hurry", "thanks in advance", "whenever you find the time")
MONTHS = ("January", "March", "June", "October")
CITIES = ("Bremen", "Lyon", "Osaka", "Quito", "Tromsø")
TIERS = ("free", "team", "enterprise")

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("tier", pa.string()),
        ("subject", pa.string()),
        ("body", pa.string()),
    ]
)


def generate(count: int, seed: int = 7) -> pa.Table:
    """So many tickets, numbered from 0."""
    chance = random.Random(seed)
    topics = [(topic, text) for topic, texts in TOPICS.items() for text in texts]
    columns: dict[str, list[object]] = {name: [] for name in SCHEMA.names}
    for number in range(count):
        _, text = chance.choice(topics)
        text = text.format(month=chance.choice(MONTHS), city=chance.choice(CITIES))
        mood = chance.choice(URGENT if chance.random() < 0.2 else CALM)
        columns["id"].append(number)
        columns["tier"].append(chance.choice(TIERS))
        columns["subject"].append(text.capitalize())
        columns["body"].append(f"Order {chance.randrange(10**6):06}: {text}. {mood.capitalize()}.")
    return pa.table(columns, SCHEMA)


def write(count: int, folder: Path, files: int = 8) -> None:
    """The tickets as parquet files of about equal size."""
    folder.mkdir(parents=True)
    table = generate(count)
    each = -(-count // files)
    for number in range(files):
        pq.write_table(table.slice(number * each, each), folder / f"{number:02}.parquet")


def triage(subject: str, body: str) -> tuple[str, int]:
    """What the model says of a ticket: its topic, and a priority from 1 (now) to 3.

    The mock server computes its answers by this, and the check what they must have been.
    """
    text = subject.lower()
    for topic, texts in TOPICS.items():
        if any(text.startswith(known.lower().split("{")[0].strip()) for known in texts):
            urgent = any(mood in body.lower() for mood in map(str.lower, URGENT))
            return topic, 1 if urgent else 2 if topic in ("bug", "login") else 3
    return "other", 3
