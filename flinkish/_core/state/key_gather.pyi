"""Keys of rows as columns: the reverse of interning."""

import numpy as np
from numpy.typing import NDArray

from flinkish._core.state.table import StateTable

def gather_keys(
    table: StateTable, rows: NDArray[np.uint32]
) -> tuple[NDArray[np.uint8], NDArray[np.int32], NDArray[np.uint8]]: ...
