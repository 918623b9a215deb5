"""A digest of a code object's instructions that does not depend on the layout of its source.

The compiler lays bytecode out by the lines of the source.  It keeps a NOP if a line would have no
instruction, jumps to a jump if their lines differ, repeats a short exit that has no line, and joins
neighbours of one line to one instruction.  So the instructions of a code object are read as the
states of an automaton: their places and repetitions do not count, only what they do and what comes
next.  Equal automata have equal smallest ones (Moore, 1956).

Docstrings, line numbers and names of files are not in it.  Names of locals are.
"""

from __future__ import annotations

import dis
import hashlib
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from types import CodeType
from typing import Any

__all__ = ["DIGEST_BYTES", "code_digest", "digest_of", "names_of"]

DIGEST_BYTES = 16

_SILENT = {"NOP", "CACHE", "JUMP_FORWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD"}
_SILENT |= {"JUMP_BACKWARD_NO_INTERRUPT", "JUMP_NO_INTERRUPT", "JUMP", "NOT_TAKEN"}
_LAST = {"RETURN_VALUE", "RAISE_VARARGS", "RERAISE"}
_OF_LINES = {"__doc__", "__firstlineno__"}  # what the body of a class stores of its source
_CONSTANTS = {"LOAD_CONST", "LOAD_SMALL_INT"}
# Generators, coroutines, and parameters: *args, **kwargs.
_FLAGS = 0x04 | 0x08 | 0x20 | 0x80 | 0x100 | 0x200

_Does = tuple[str, bytes]


@dataclass
class _State:
    """An instruction: what it does, and what may be next; -1 where nothing is."""

    does: _Does
    silent: bool = False
    next: int = -1
    jump: int = -1
    handler: int = -1
    handled: bytes = b""  # how the stack is unwound for the handler

    @property
    def exits(self) -> tuple[int, int, int]:
        return self.next, self.jump, self.handler


@dataclass
class _Reading:
    """Instructions of a code object, those that stand for two of them taken apart."""

    states: list[_State] = field(default_factory=list)
    at: dict[int, int] = field(default_factory=dict)  # the state at, or next after, an offset
    jumps: list[tuple[int, int]] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)


def digest_of(*parts: bytes | str) -> bytes:
    """A hash of parts, each told from its neighbours."""
    hashed = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        hashed.update(len(data).to_bytes(8, "big") + data)
    return hashed.digest()


def code_digest(code: CodeType, constant: Callable[[Any], bytes]) -> bytes:
    """A digest of what a code object does; ``constant`` gives that of a constant in it.

    Bytecode is that of a minor version of Python, and another one's has another digest.
    """
    parameters = code.co_argcount + code.co_kwonlyargcount
    parameters += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)
    shape = (
        *(sys.implementation.name, sys.version_info[:2], code.co_flags & _FLAGS),
        *(code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount),
        *code.co_varnames[:parameters],
    )
    return digest_of(repr(shape), *_smallest(_read(code, constant).states))


def names_of(code: CodeType) -> tuple[set[str], set[str], set[tuple[int, str]]]:
    """Globals that a code object and those in it name; all names; modules with their levels."""
    used: set[str] = set()
    every: set[str] = set()
    imported: set[tuple[int, str]] = set()
    todo = [code]
    for one in todo:
        every.update(one.co_names)
        todo.extend(inner for inner in one.co_consts if isinstance(inner, CodeType))
        given: list[Any] = []
        for instruction in dis.get_instructions(one):
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                used.add(str(instruction.argval))
            elif instruction.opname == "IMPORT_NAME":  # after its level and the names it gives
                level = given[-2] if len(given) > 1 and isinstance(given[-2], int) else 0
                imported.add((level, str(instruction.argval)))
            elif instruction.opname in _CONSTANTS:
                given.append(instruction.argval)
    return used, every, imported


# --- instructions as states


def _read(code: CodeType, constant: Callable[[Any], bytes]) -> _Reading:
    reading = _Reading()
    states, waiting = reading.states, []
    for instruction in dis.get_instructions(code):
        waiting.append(instruction.offset)
        if instruction.opname == "EXTENDED_ARG":
            continue
        for offset in waiting:
            reading.at[offset] = len(states)
        waiting.clear()
        if instruction.opcode in _JUMPS:
            reading.jumps.append((len(states), int(instruction.argval)))
        for does in _taken_apart(instruction, constant):
            silent = instruction.opname in _SILENT
            states.append(_State(does, silent, next=len(states) + 1))
            reading.offsets.append(instruction.offset)
    for number, offset in reading.jumps:
        state = states[number]
        state.jump = reading.at[offset]
        if state.silent:
            state.next, state.jump = state.jump, -1
        elif state.does[0] in _OPPOSITE:
            state.does = _OPPOSITE[state.does[0]], b""
            state.next, state.jump = state.jump, state.next
    _thread(states)
    _unswap(states, {reading.at[offset] for _, offset in reading.jumps})
    for state in states:
        if state.does[0] in _LAST:
            state.next = -1
    _handlers(code, reading)
    if not code.co_flags & 0x01:  # the body of a class, or of a module
        for first, second in pairwise(states):
            if first.does[0] in _CONSTANTS and second.does in _STORES:
                first.silent = second.silent = True
    return reading


def _taken_apart(instruction: dis.Instruction, constant: Callable[[Any], bytes]) -> Iterator[_Does]:
    """The effect of an instruction, as that of the ones it stands for."""
    name, value = instruction.opname, instruction.argval
    if instruction.opcode in _JUMPS:
        yield _TWICE.sub("", name), b""
    elif name == "RETURN_CONST":
        yield "LOAD_CONST", constant(value)
        yield "RETURN_VALUE", b""
    elif instruction.opcode in _WITH_CONSTANT:
        yield name, constant(value)
    elif isinstance(value, tuple) and instruction.opcode in _WITH_LOCAL:
        # As LOAD_FAST_LOAD_FAST, STORE_FAST_LOAD_FAST: joined where both are of one line.
        kinds = name.replace("_BORROW", "").replace("FAST_", "FAST ").split(" ")
        for kind, local in zip(kinds, value, strict=True):
            yield kind, str(local).encode()
    elif instruction.opcode in _WITH_LOCAL:
        # Whether it must be checked, and who owns what is loaded, the compiler finds out.
        yield name.replace("_BORROW", "").replace("FAST_CHECK", "FAST"), str(value).encode()
    elif instruction.opcode in _WITH_NAME:
        yield name, str(value).encode()
    else:
        yield name, str(instruction.arg).encode()


# A branch goes on to whichever side lies next, and jumps to the other.
_TWICE = re.compile("_(FORWARD|BACKWARD)(?=_IF)")
_OPPOSITE = {
    "POP_JUMP_IF_FALSE": "POP_JUMP_IF_TRUE",
    "POP_JUMP_IF_NOT_NONE": "POP_JUMP_IF_NONE",
}
_JUMPS = {*dis.hasjrel, *dis.hasjabs}
_WITH_CONSTANT = set(dis.hasconst)
_WITH_LOCAL = set(dis.haslocal)
_WITH_NAME = {*dis.hasname, *dis.hasfree}
_STORES = {("STORE_NAME", name.encode()) for name in _OF_LINES}


def _thread(states: list[_State]) -> None:
    """Send a jump that keeps its value for another test of it where that test sends it.

    The compiler does so if the two are of one line, up to Python 3.11.
    """
    for state in states:
        when = _KEEPING.get(state.does[0])
        while when is not None:
            target = states[_heard(states, state.jump)]
            kept = _KEEPING.get(target.does[0])
            if kept is when:
                state.jump = target.jump
                continue
            if kept is not None:
                found = target.next
            elif target.does[0] == "POP_JUMP_IF_TRUE":
                found = target.jump if when else target.next
            else:
                break
            state.does = "POP_JUMP_IF_TRUE", b""
            state.next, state.jump = (state.next, found) if when else (found, state.next)
            break


_KEEPING = {"JUMP_IF_TRUE_OR_POP": True, "JUMP_IF_FALSE_OR_POP": False}


def _unswap(states: list[_State], targets: set[int]) -> None:
    """Store in the other order, not swap and then store: the compiler does so within a line."""
    for number in range(len(states) - 1, -1, -1):
        name, argument = states[number].does
        if name != "SWAP":
            continue
        stores: list[_State] = []
        for at in range(number + 1, len(states)):
            state = states[at]
            if len(stores) == int(argument) or at in targets:
                break
            if not state.silent:
                if state.does[0] not in ("STORE_FAST", "POP_TOP"):
                    break
                stores.append(state)
        names = [state.does for state in stores if state.does[0] == "STORE_FAST"]
        if len(stores) == int(argument) and len(names) == len(set(names)):
            states[number].silent = True
            stores[0].does, stores[-1].does = stores[-1].does, stores[0].does


def _handlers(code: CodeType, reading: _Reading) -> None:
    """Where errors of which instructions go on; before Python 3.11 instructions say so."""
    for entry in getattr(dis.Bytecode(code), "exception_entries", ()):
        unwound = f"{entry.depth} {entry.lasti}".encode()
        for state, offset in zip(reading.states, reading.offsets, strict=True):
            if entry.start <= offset < entry.end and not state.silent:
                state.handler, state.handled = reading.at[entry.target], unwound


# --- the smallest automaton


def _smallest(states: list[_State]) -> Iterator[bytes]:
    """The states that tell each other apart, from the first on, as they are reached."""
    heard = [_heard(states, number) for number in range(len(states))]
    reached: dict[int, None] = {}
    todo = [heard[0]]
    while todo:
        number = todo.pop()
        if number >= 0 and number not in reached:
            reached[number] = None
            todo += (heard[one] if one >= 0 else -1 for one in states[number].exits)
    exits = {
        number: tuple(heard[one] if one >= 0 else -1 for one in states[number].exits)
        for number in reached
    }
    labels = {number: (states[number].does, states[number].handled) for number in reached}
    kinds: dict[Any, int] = {}
    kind = {number: kinds.setdefault(labels[number], len(kinds)) for number in reached}
    kind[-1] = -1
    while True:
        finer: dict[Any, int] = {}
        found = {
            number: finer.setdefault(
                (kind[number], *(kind[one] for one in exits[number])), len(finer)
            )
            for number in reached
        }
        known, kind, kinds = len(kinds), {**found, -1: -1}, finer
        if len(finer) == known:
            break
    places: dict[int, int] = {-1: -1}
    order: list[int] = []
    todo = [heard[0]]
    while todo:
        number = todo.pop()
        if kind[number] not in places:
            places[kind[number]] = len(order)
            order.append(number)
            todo += reversed(exits[number])
    for number in order:
        (name, argument), handled = labels[number]
        goes = " ".join(str(places[kind[one]]) for one in exits[number])
        yield digest_of(name, argument, handled, goes)


def _heard(states: list[_State], number: int) -> int:
    """The first state from here on that does something; -1 if none ever does."""
    passed = set()
    while states[number].silent:
        if number in passed:
            return -1
        passed.add(number)
        number = states[number].next
    return number
