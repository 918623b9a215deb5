"""The settings that give an operator's stored bytes their meaning, kept in its checkpoint.

Spark compares nothing of it: to Spark every operator has the same state, keyed by an int.  So the
group SETTINGS_GROUP has a head of its own, a sealed JSON object of `settings_of` the plan and of
the states that the opened function has asked for.  A state that a function asks for later is known
to the tasks that met it alone: the head of each key group has those that it was written with.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from flinkish._core.values.codec import CorruptFrame, NewerFrame, seal, unseal
from flinkish.common.errors import IncompatibleStateError
from flinkish.common.formats import WRITER, newer_format, writer
from flinkish.spark.keyed.group_state import HEAD, corrupt_state, stored_head
from flinkish.spark.keyed.key_widening import same_keys, shown_keys, widening
from flinkish.spark.keyed.plan import OperatorPlan
from flinkish.state.backend import KeyedStateBackend, StateDeclaration

__all__ = ["KIND_SETTINGS", "SETTINGS_FORMAT", "check_settings", "merged_settings", "settings_of"]

KIND_SETTINGS = 6
# Format 1 had max_parallelism alone.
SETTINGS_FORMAT = 2
# Not among the settings of operators without states, and of checkpoints of flinkish 0.1.0.
STATES = "states"


def settings_of(plan: OperatorPlan) -> dict[str, Any]:
    """The meaning of a plan's state, as plain data; None for parts that the operator does not have.

    A function's own class is not among it, nor its code: they may change as in Flink.  Neither
    are triggers, allowed lateness, late outputs and the columns of rows.
    """
    second = plan.second
    operator = plan.operator
    assert operator is not None
    return {
        "max_parallelism": plan.max_parallelism,
        "shuffle_partitions": plan.groups_by_default,
        "uid": plan.uid if plan.named else None,
        "operator": operator.kind,
        "keys": plan.keys,
        "keys of the second input": None if second is None else second.keys,
        **(dict.fromkeys(("windows", "aggregates", "bounds")) | operator.settings()),
        "generations": [plan.state.generation],
    }


def check_settings(
    plan: OperatorPlan, log: Any, opened: Callable[[], KeyedStateBackend] | None = None
) -> bool:
    """Compare a program with those that wrote the checkpoint; whether anything was written.

    ``log`` is the map of SETTINGS_GROUP.  ``opened`` opens the function, once the rest is found to
    agree, and gives the states that it asked for; those of the checkpoint are kept.  What the
    checkpoint does not know yet is added.  That a key group is new says nothing: with another
    number of them every key is in another one.
    IncompatibleStateError.
    """
    now = settings_of(plan)
    states: dict[str, Any] = {}
    stored = stored_head(log)
    if stored is not None:
        was = _decode(plan, stored[0])
        generations = was.get("generations", [""])
        if generations[-1] == plan.state.generation:
            _compare(plan, was, now)
            states = was.get(STATES, {})
        elif plan.state.generation in generations:
            raise _left_generation(plan, generations)
        else:
            generations = [*generations, plan.state.generation]
        now["generations"] = generations
    if opened is not None:
        backend = opened()
        backend.compare(StateDeclaration(**one) for one in states.values())
        states = states | {one.name: one.to_dict() for one in backend.asked_for}
    if states:
        now[STATES] = states
    if stored is not None and {name: was[name] for name in was if name != WRITER} == now:
        return False
    log.updateValue(HEAD, (_encode(writer() | now), False))
    return True


def merged_settings(plan: OperatorPlan, heads: Sequence[bytes]) -> bytes:
    """One head of SETTINGS_GROUP for those of several partitions, at least one.

    They differ in the states that tasks have met.
    """
    found = [_decode(plan, head) for head in heads]
    states = {name: one for was in found for name, one in was.get(STATES, {}).items()}
    return _encode(found[0] | ({STATES: states} if states else {}))


def _encode(settings: dict[str, Any]) -> bytes:
    return seal(KIND_SETTINGS, SETTINGS_FORMAT, 0, json.dumps(settings).encode())


def _decode(plan: OperatorPlan, frame: bytes) -> dict[str, Any]:
    try:
        body = unseal(frame, KIND_SETTINGS, 0, version=SETTINGS_FORMAT)
    except CorruptFrame as error:
        raise corrupt_state(plan, str(error), SETTINGS_FORMAT, None) from error
    except NewerFrame as error:
        raise newer_format(error, f"the checkpoint of operator {plan.uid!r}") from error
    found: dict[str, Any] = json.loads(bytes(body))
    return found


# --- comparing

_ADVICE = {
    "operator": "go back to what the operator was (`explain` of the stream tells why windows run "
    "by columns or row by row)",
    "keys": "key by the same columns as before: withColumnRenamed where one was only renamed, "
    "cast where its type has changed",
    "windows": "take the windows as they were",
    "aggregates": "take the aggregates as they were, in their order: withColumnRenamed where a "
    "column was only renamed",
    "bounds": "take the bounds as they were",
}
_ADVICE["keys of the second input"] = _ADVICE["keys"]


def _compare(plan: OperatorPlan, was: dict[str, Any], now: dict[str, Any]) -> None:
    """IncompatibleStateError for the first difference that stored bytes do not bear."""
    if was["max_parallelism"] != now["max_parallelism"]:
        raise _other_groups(plan, was, now)
    if was.get("uid") is not None and was["uid"] != now["uid"]:
        raise _other_uid(plan, was["uid"])
    for name, advice in _ADVICE.items():
        if name not in was or was[name] == now[name]:
            continue
        if name.startswith("keys"):
            if same_keys(was[name], now[name]):
                continue
            advice = widening(was[name], now[name]) or advice
        raise _incompatible(
            plan, name, was[name], now[name], "its state would be lost or misread: " + advice
        )


def _incompatible(
    plan: OperatorPlan, setting: str, was: Any, now: Any, advice: str
) -> IncompatibleStateError:
    return IncompatibleStateError(
        f"the checkpoint of operator {plan.uid!r} was written with {setting}="
        f"{_shown(was)}, this program has {_shown(now)}; {advice}; or start this operator without "
        "its state, with state=StateSettings(generation='a new name')",
        setting=setting,
        was=was,
        now=now,
    )


def _shown(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return shown_keys(value)
    return str(value)


def _other_groups(
    plan: OperatorPlan, was: dict[str, Any], now: dict[str, Any]
) -> IncompatibleStateError:
    groups = was["max_parallelism"]
    before, after = was.get("shuffle_partitions"), now["shuffle_partitions"]
    advice = "keys would be looked for in the wrong places: "
    if after is not None and "shuffle_partitions" not in was:
        advice += (
            f"this program does not set it, and {now['max_parallelism']} follows from "
            f"spark.sql.shuffle.partitions={after}, which was another then, or max_parallelism was "
            "set: "
        )
    elif after is not None and before is not None:
        advice += (
            f"neither was set; both follow from spark.sql.shuffle.partitions, which was {before} "
            f"and is {after}: "
        )
    advice += f"set max_parallelism={groups} where the operator is defined"
    return _incompatible(plan, "max_parallelism", groups, now["max_parallelism"], advice)


def _other_uid(plan: OperatorPlan, was: str) -> IncompatibleStateError:
    now = plan.uid if plan.named else None
    return _incompatible(
        plan,
        "uid",
        was,
        now,
        f"Spark finds state by an operator's place in the query, and at this one it is that of "
        f"{was!r}: put the operators in the order that they had, or give this one uid={was!r} if "
        "it is the same",
    )


def _left_generation(plan: OperatorPlan, generations: list[str]) -> IncompatibleStateError:
    return IncompatibleStateError(
        f"operator {plan.uid!r} was started without its state as generation {generations[-1]!r} "
        f"after {plan.state.generation!r}, which this program names and whose state is gone; keep "
        f"state=StateSettings(generation={generations[-1]!r}) in the program, or take a name that "
        "was not used yet to start without state again",
        setting="generation",
        was=generations[-1],
        now=plan.state.generation,
    )
