"""A whole PyFlink program on Spark, its result checked; with --beside also on PyFlink itself.

    bash ci/demo.sh pyflink [--words N] [--beside PYTHON]

``--beside`` is a Python that has apache-flink (2.3.0): the same program runs there after its
imports are changed back.  Each program is a process of its own, run over N / 5 and over N words,
and the rate is that of the difference, so that starting costs nothing.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

PROGRAM = Path(__file__).with_name("word_count.py")
WORDS_OF_A_LINE = 10
SHORT = 5  # part of the words that the shorter run has


def write_text(path: Path, words: int) -> Counter[str]:
    """A text of made-up words, the frequent ones as frequent as in languages; gives its counts."""
    generator = random.Random(7)
    vocabulary = [f"word{number}" for number in range(5_000)]
    weights = [1 / (rank + 1) for rank in range(len(vocabulary))]
    drawn = generator.choices(vocabulary, weights, k=words)
    with path.open("w") as file:
        for start in range(0, words, WORDS_OF_A_LINE):
            file.write(" ".join(drawn[start : start + WORDS_OF_A_LINE]) + "\n")
    return Counter(drawn)


def read_counts(folder: Path, mode: str) -> Counter[str]:
    """The counts that a program wrote: in streaming mode the highest of each word."""
    found: Counter[str] = Counter()
    for path in folder.rglob("*"):
        if not path.is_file() or any(part[0] in "._" for part in path.relative_to(folder).parts):
            continue
        for line in path.read_text().splitlines():
            word, count = line.split()
            found[word] = max(found[word], int(count)) if mode == "STREAMING" else int(count)
    return found


def run(python: str, program: Path, text: Path, mode: str, folder: Path) -> float:
    """Run a program; gives its seconds."""
    command = [python, str(program), "--input", str(text), "--output", str(folder)]
    # Flink and Spark look for Python in PATH.
    path = os.pathsep.join([str(Path(python).parent), os.environ["PATH"]])
    began = time.perf_counter()
    subprocess.run(
        [*command, "--mode", mode],
        check=True,
        env=os.environ | {"PATH": path},
        stderr=subprocess.DEVNULL,
    )
    return time.perf_counter() - began


def main() -> int:
    """Run the programs; 0 if all counts are right."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--words", type=int, default=1_000_000)
    parser.add_argument("--beside", metavar="PYTHON")
    given = parser.parse_args()
    right = True
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        expected = {
            words: write_text(room / f"{words}.txt", words)
            for words in (given.words // SHORT, given.words)
        }
        programs = {"flinkish on Spark": (sys.executable, PROGRAM)}
        if given.beside:
            changed = room / "pyflink_word_count.py"
            changed.write_text(PROGRAM.read_text().replace("from flinkish.", "from pyflink."))
            programs["PyFlink"] = (given.beside, changed)
        rates: dict[tuple[str, str], float] = {}
        for mode in ("BATCH", "STREAMING"):
            for title, (python, program) in programs.items():
                seconds = {}
                for words, counts in expected.items():
                    folder = room / f"{mode}-{len(rates)}-{words}"
                    seconds[words] = run(python, program, room / f"{words}.txt", mode, folder)
                    if read_counts(folder, mode) != counts:
                        print(f"{title}, {mode}: the counts of {words:,} words are WRONG")
                        right = False
                took = seconds[given.words] - seconds[given.words // SHORT]
                rates[title, mode] = (given.words - given.words // SHORT) / took
                print(
                    f"{title}, {mode}: {given.words:,} words in {seconds[given.words]:.1f} s with "
                    f"its start, {rates[title, mode]:,.0f} words/s without",
                    flush=True,
                )
            if given.beside:
                ratio = rates["flinkish on Spark", mode] / rates["PyFlink", mode]
                print(f"{mode}: {ratio:.1f} times as many words a second")
    print("all counts are right" if right else "counts are WRONG")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
