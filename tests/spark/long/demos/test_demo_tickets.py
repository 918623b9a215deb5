"""The demonstration of asynchronous calls, on few tickets, and the parts it stands on."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import tests
from tests.processes import ran
from tests.waiting import PATIENCE, until

pytest.importorskip("aiohttp")
pytestmark = pytest.mark.spark

DEMO = Path(tests.__file__).resolve().parents[1] / "examples" / "tickets"
S = 1_000_000_000


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Import modules of the demonstration, whose names are too common to keep."""
    monkeypatch.syspath_prepend(DEMO)
    names = {path.stem for path in DEMO.glob("*.py")}
    assert not names & set(sys.modules)
    yield import_module
    for name in names:
        sys.modules.pop(name, None)


def test_it_is_killed_and_pays_for_the_rest(tmp_path: Path, environment: dict[str, str]) -> None:
    out = tmp_path / "out"
    # So few calls a second that a run takes longer than a line of progress waits, and so few at
    # once that half of the tickets, of which the server says that they are done, are in the ledger.
    options = ["--tickets", "1200", "--rate", "60", "--latency-ms", "40", "--threads", "4"]
    options += ["--race-s", "1", "--capacity", "40"]
    done = ran(str(DEMO / "main.py"), *options, "--out", str(out), env=environment)
    assert "Killed with SIGKILL" in done.stdout
    assert "Right: 1,200 tickets have their answer once" in done.stdout
    assert "s to go; tried again" in done.stdout, "progress, a line now and then"
    found = json.loads((out / "work.json").read_text())
    assert found["counts"]["saved"] >= 500

    def left() -> str:
        return subprocess.run(["pgrep", "-f", str(out)], capture_output=True, text=True).stdout

    until(lambda: left() == "", "no process is left behind")


def test_it_deletes_what_it_made_and_nothing_else(part: Any, tmp_path: Path) -> None:
    main, out = part("main"), tmp_path / "deep" / "out"
    main.make_room(out)
    for name in main.MADE:
        if "." in name:
            (out / name).write_text("old")
        else:
            (out / name / "deeper").mkdir(parents=True)
            (out / name / "deeper" / "file").write_text("old")
    (out / "mine").write_text("kept")
    elsewhere = tmp_path / "elsewhere"
    (out / "ledger").rename(elsewhere)
    (out / "ledger").symlink_to(elsewhere)
    main.make_room(out)
    assert sorted(path.name for path in out.iterdir()) == [main.MARK, "mine"]
    assert (elsewhere / "deeper" / "file").exists(), "a link is not followed"


def test_it_refuses_a_directory_that_it_did_not_make(part: Any, tmp_path: Path) -> None:
    main = part("main")
    for name in ("tickets", "thesis"):
        (tmp_path / name).mkdir()
    for look in (main.make_room, lambda out: main.main(["--out", str(out)])):
        with pytest.raises(SystemExit, match="holds thesis, tickets, and was not made by") as told:
            look(tmp_path)
        assert "give a directory that is empty or does not exist" in str(told.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["thesis", "tickets"]
    (tmp_path / "file").write_text("text")
    with pytest.raises(SystemExit, match="is a file; give a directory"):
        main.make_room(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "text"
    (tmp_path / "empty").mkdir()
    main.make_room(tmp_path / "empty")


def test_what_it_makes_is_what_it_deletes(part: Any) -> None:
    """Whatever the demonstration writes into its directory is on the list."""
    texts = [path.read_text() for path in DEMO.glob("*.py")]
    written = {name for text in texts for name in re.findall(r'out / "([^"]+)"', text)}
    written |= {f"{name}.json" for name in ("race", "work")} | {part("job").LEDGER}
    assert written == set(part("main").MADE)


def test_tickets_are_the_same_every_time_and_have_one_answer(part: Any, tmp_path: Path) -> None:
    tickets = part("tickets")
    table = tickets.generate(3_000)
    assert table == tickets.generate(3_000)
    assert table.slice(0, 100) == tickets.generate(100)
    answers = [tickets.triage(row["subject"], row["body"]) for row in table.to_pylist()]
    assert set(Counter(topic for topic, _ in answers)) == set(tickets.TOPICS)
    assert {priority for _, priority in answers} == {1, 2, 3}
    tickets.write(10, tmp_path / "tickets", files=4)
    assert sorted(path.name for path in (tmp_path / "tickets").iterdir()) == [
        f"{number:02}.parquet" for number in range(4)
    ]


def ask(port: int, ticket: dict[str, Any], path: str = "/v1/triage") -> tuple[int, Any, Any]:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", json.dumps(ticket).encode(), {"x-caller": "test"}
    )
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
            return reply.status, json.loads(reply.read()), reply.headers
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read()), error.headers


def test_the_server_answers_refuses_and_keeps_a_log(part: Any, tmp_path: Path) -> None:
    server = part("main").Server(tmp_path, 11, 1)  # one call within 80 ms, and they take less
    ticket = {"id": 1, "subject": "Charged twice", "body": "Our launch is today."}
    statuses = Counter()
    with ThreadPoolExecutor(40) as pool:
        answers = list(pool.map(lambda _: ask(server.port, ticket), range(40)))
    for status, answer, headers in answers:
        statuses[status] += 1
        if status == 429:
            assert headers["retry-after"] == "1"
        elif status == 200:
            assert answer == {"topic": "billing", "priority": 1}
    assert ask(server.port, ticket, "/v2")[0] == 404
    assert statuses[429] > 0, "40 calls at once are more than 11 a second"
    assert server.answered("test") == statuses[200] > 0
    server.close()
    seen = part("check").read_log(server.log)["test"]
    assert seen.statuses == statuses
    assert seen.answered == Counter({1: statuses[200]})


def test_the_check_sees_what_is_wrong(part: Any, tmp_path: Path) -> None:
    check, tickets = part("check"), part("tickets")
    tickets.write(20, tmp_path / "tickets")
    right = [
        (row["id"], *tickets.triage(row["subject"], row["body"]))
        for row in tickets.generate(20).to_pylist()
    ]
    assert check.wrong_rows("all", tmp_path, right, 20) == []
    other = [(0, "other", 9), *right[2:], right[5]]
    assert check.wrong_rows("some", tmp_path, other, 20) == [
        "some: 1 tickets have no answer, 1 more than one, and 1 answers are not what the model says"
    ]

    even = check.Seen(sent=[i * S // 100 for i in range(2_000)])
    assert check.busiest(even.sent) == 500
    assert check.pace(even.sent) == pytest.approx(100)
    assert check.wrong_rate("even", even, 100) == []
    assert check.wrong_rate("even", even, 97) == [
        "even sent 500 calls within 5 s, and 97/s allow 485"
    ]
    assert check.pace([]) == 0

    first = check.Seen(answered=Counter(range(100)))
    second = check.Seen(answered=Counter(range(90, 200)))
    assert check.wrong_bill(first, second, saved=90, in_flight=10) == []
    assert len(check.wrong_bill(first, second, saved=80, in_flight=9)) == 2


def test_progress_is_told_in_a_line(part: Any) -> None:
    progress = part("progress")
    board = progress.Board()
    worker = progress.Reporter(board.whereabouts())
    for what in ["answered"] * 40 + ["Overloaded"] * 2:
        worker.count(what)
    worker.close()
    watch = progress.Watch(board, total=100, known=10, console=None)
    until(lambda: board.counts == {"answered": 40, "Overloaded": 2})
    assert watch.text(40, [(0.0, 0), (4.0, 40)]) == (
        "50 of 100, 10/s, 5 s to go; tried again: 2 Overloaded"
    )
    board.close()
