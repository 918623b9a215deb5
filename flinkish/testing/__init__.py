"""Tools for tests of functions and operators: harnesses, and time by hand.

Owns: harnesses around one operator or function, the test clock, a mailbox that runs step by step.
Uses: ``_core``, ``common``, ``metrics``, ``mailbox``, ``time``, ``functions``, ``operators``,
``windowing``.
Must not: be imported by any room, or need pytest.
"""

from typing import TYPE_CHECKING

from flinkish.common.lazy import lazy_names

if TYPE_CHECKING:
    from flinkish.testing.function_harnesses import ProcessFunctionTestHarnesses
    from flinkish.testing.harness import (
        KeyedOneInputStreamOperatorTestHarness,
        OneInputStreamOperatorTestHarness,
    )
    from flinkish.testing.mailbox import SteppingMailbox
    from flinkish.testing.processing_time import TestProcessingTimeService
    from flinkish.testing.trigger_harness import TriggerTestHarness
    from flinkish.testing.two_input_harness import (
        KeyedTwoInputStreamOperatorTestHarness,
        TwoInputStreamOperatorTestHarness,
    )
else:
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "flinkish.testing.function_harnesses": ("ProcessFunctionTestHarnesses",),
            "flinkish.testing.harness": (
                "KeyedOneInputStreamOperatorTestHarness",
                "OneInputStreamOperatorTestHarness",
            ),
            "flinkish.testing.mailbox": ("SteppingMailbox",),
            "flinkish.testing.processing_time": ("TestProcessingTimeService",),
            "flinkish.testing.trigger_harness": ("TriggerTestHarness",),
            "flinkish.testing.two_input_harness": (
                "KeyedTwoInputStreamOperatorTestHarness",
                "TwoInputStreamOperatorTestHarness",
            ),
        },
    )

__all__ = [
    "KeyedOneInputStreamOperatorTestHarness",
    "KeyedTwoInputStreamOperatorTestHarness",
    "OneInputStreamOperatorTestHarness",
    "ProcessFunctionTestHarnesses",
    "SteppingMailbox",
    "TestProcessingTimeService",
    "TriggerTestHarness",
    "TwoInputStreamOperatorTestHarness",
]
