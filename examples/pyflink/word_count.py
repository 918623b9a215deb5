"""Words of text files and how often they are there: a PyFlink program, its imports changed.

python word_count.py --input PATH --output DIRECTORY [--mode BATCH] [--parallelism N]
"""

import argparse

from flinkish.common import Encoder, Types, WatermarkStrategy
from flinkish.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from flinkish.datastream.connectors.file_system import FileSink, FileSource, StreamFormat


def word_count(input_path: str, output_path: str, mode: str, parallelism: int) -> None:
    """Run the program to its end."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode[mode])
    env.set_parallelism(parallelism)

    lines = env.from_source(
        FileSource.for_record_stream_format(StreamFormat.text_line_format(), input_path)
        .process_static_file_set()
        .build(),
        WatermarkStrategy.for_monotonous_timestamps(),
        "lines",
    )
    pair = Types.TUPLE([Types.STRING(), Types.LONG()])
    counts = (
        lines.flat_map(lambda line: line.split(), Types.STRING())
        .map(lambda word: (word, 1), pair)
        .key_by(lambda counted: counted[0], Types.STRING())
        .reduce(lambda one, other: (one[0], one[1] + other[1]))
    )
    texts = counts.map(lambda counted: f"{counted[0]} {counted[1]}", Types.STRING())
    texts.sink_to(FileSink.for_row_format(output_path, Encoder.simple_string_encoder()).build())
    env.execute("word count")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--input", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--mode", default="BATCH", choices=["BATCH", "STREAMING"])
    parser.add_argument("--parallelism", type=int, default=2)
    given = parser.parse_args()
    word_count(given.input, given.output, given.mode, given.parallelism)
