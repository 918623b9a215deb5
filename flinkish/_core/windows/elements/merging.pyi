"""The inner loop of a window operator whose windows merge."""

from typing import Any

from typing_extensions import disjoint_base

from flinkish._core.operators.keyed_process import KeyedTimerService
from flinkish._core.state.table import StateTable
from flinkish._core.windows.elements.contents import WindowContents
from flinkish._core.windows.elements.contexts import WindowContext, WindowTriggerContext
from flinkish._core.windows.elements.process import WindowedProcess

@disjoint_base
class MergingWindowedProcess(WindowedProcess):
    """Runs windows that merge over a table."""

    def __init__(
        self,
        table: StateTable,
        timers: KeyedTimerService,
        tag_type: type,
        event_domain: object,
        processing_domain: object,
        contents: WindowContents,
        triggers: WindowTriggerContext,
        windows: WindowContext,
        plan: Any,
        set_cell: int,
    ) -> None: ...
