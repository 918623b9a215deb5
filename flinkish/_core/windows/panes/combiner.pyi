"""Records of the panes of a batch, without a table."""

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

from flinkish._core.windows.panes.accumulators import AccumulatorLayout, WordColumns

@disjoint_base
class PaneCombiner:
    """Makes one record of all elements that a key has in a pane."""

    def __new__(
        cls,
        layout: AccumulatorLayout,
        *,
        size: int,
        unit: int,
        offset: int = 0,
        cycle: int = 0,
    ) -> PaneCombiner: ...
    def combine(
        self, keys: NDArray[np.uint32], times: NDArray[np.int64], columns: WordColumns
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.uint8]]: ...
