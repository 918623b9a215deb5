"""What tests of functions and operators use: harnesses, and time by hand.

Owns: harnesses around one operator or function, the test clock, a mailbox that runs step by step.
Uses: ``_core``, ``common``, ``metrics``, ``mailbox``, ``time``, ``functions``, ``operators``,
``windowing``.
Must not: be imported by any room, or need pytest.
"""

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
