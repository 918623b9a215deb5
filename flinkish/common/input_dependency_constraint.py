"""PyFlink's module of the enum `InputDependencyConstraint`."""

from enum import Enum

__all__ = ["InputDependencyConstraint"]


class InputDependencyConstraint(Enum):
    """When a task may start: once any of its inputs has data, or once all have."""

    ANY = 0
    ALL = 1
