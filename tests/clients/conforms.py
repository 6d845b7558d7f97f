"""Whether an answer is what the generated types say: generated code takes some values as they come."""

import datetime
import enum
import functools
import types
import typing
from typing import Any

import attrs
from strandline_client import models
from strandline_client.types import Unset

NAMES = {**vars(models), **vars(typing), "datetime": datetime, "Unset": Unset}


@functools.cache
def _hints(of: type) -> dict[str, Any]:
    return typing.get_type_hints(of, globalns=NAMES)


def faults(value: Any, hint: Any, place: str = "") -> list[str]:
    """Every place where a value is not of the type that is hinted at."""
    wrong = [f"{place or 'the answer'}: {value!r:.200} is no {hint}"]
    origin = typing.get_origin(hint) or hint
    if hint is Any:
        return []
    if origin in (typing.Union, types.UnionType):
        found = [faults(value, one, place) for one in typing.get_args(hint)]
        return [] if [] in found else wrong
    if origin is list and isinstance(value, list):
        items = enumerate(value)
        return [fault for index, one in items for fault in faults(one, *typing.get_args(hint), f"{place}[{index}]")]
    # A truth counts as a number in Python, and a choice as a text.
    if isinstance(value, bool) and origin is not bool or isinstance(value, enum.Enum) and origin is str:
        return wrong
    if not isinstance(value, types.NoneType if hint is None else origin):
        return wrong
    if not attrs.has(origin):
        return []
    members = [(one.name, getattr(value, one.name)) for one in attrs.fields(origin)]
    return [fault for name, one in members for fault in faults(one, _hints(origin)[name], f"{place}.{name}")]


def plain(value: Any) -> Any:
    """JSON with its times as times, which may be written in more than one way."""
    if isinstance(value, dict):
        return {name: plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, str) and value.startswith("20"):
        try:
            return datetime.datetime.fromisoformat(value)
        except ValueError:
            return value
    return value
