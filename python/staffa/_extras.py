"""Optional libraries, imported on first use."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any, NoReturn

from staffa.errors import MissingExtraError


def require(module: str, extra: str) -> Any:
    """Imports a module of an optional dependency.

    >>> require("json", "polars").dumps([1])
    '[1]'
    >>> require("no_such_module", "polars")
    Traceback (most recent call last):
        ...
    staffa.errors.MissingExtraError: no_such_module is not installed: install it, or the wheel with the extra polars
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise
        raise MissingExtraError(
            f"{error.name} is not installed: install it, or the wheel with the extra {extra}"
        ) from None


class MissingModule(ModuleType):
    """A module of this package whose optional library is not installed: its names raise `MissingExtraError`."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(name, message)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        raise MissingExtraError(self.__doc__)
