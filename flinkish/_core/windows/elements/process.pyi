"""The inner loop of a window operator."""

from typing import Any

from typing_extensions import disjoint_base

from flinkish._core.operators.keyed_process import KeyedProcess, KeyedTimerService
from flinkish._core.state.table import StateTable
from flinkish._core.windows.elements.contents import WindowContents
from flinkish._core.windows.elements.contexts import WindowContext, WindowTriggerContext

@disjoint_base
class WindowedProcess(KeyedProcess):
    """Runs windows over a table."""

    @property
    def unplaced(self) -> int: ...
    @property
    def dropped(self) -> int: ...
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
    ) -> None: ...
