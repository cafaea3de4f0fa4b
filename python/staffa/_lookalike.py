"""Objects that `isinstance` takes for pyarrow's, and that pyarrow's C++ refuses.

Engines ask `isinstance(x, pyarrow.dataset.Dataset)` and then call methods in Python. A subclass without a dataset in
C++ would do for them, but pyarrow's own functions would follow its null pointer and end the process. So the classes
here are no subclasses: their `__class__`, at which `isinstance` looks as well, is one that is never instantiated.
pyarrow's functions in C++ check the type itself and raise `TypeError`.
"""

from __future__ import annotations

from typing import Any, ClassVar


class _OfPyarrow:
    """DuckDB looks for pyarrow's module among those of the classes of an object, before it asks `isinstance`."""

    __module__ = "pyarrow._dataset"


class Lookalike(_OfPyarrow):
    """A base class: `class Dataset(Lookalike, like=ds.Dataset)` looks like a `ds.Dataset`."""

    _seen_as: ClassVar[type]

    def __init_subclass__(cls, like: type | None = None, **options: Any) -> None:
        super().__init_subclass__(**options)
        if like is not None:
            # Engines call methods of `__class__` as functions, so it has those of `cls`.
            cls._seen_as = type(cls.__name__, (cls, like), {"__module__": cls.__module__, "__doc__": cls.__doc__})

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self)._seen_as
