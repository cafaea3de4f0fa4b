"""An extension of griffe: the doctests of docstrings as fenced code, which Markdown would take for quotations.

>>> fenced("One:\\n\\n>>> 1\\n1\\n\\n>>> 2\\n2\\n\\nTwo.")
'One:\\n\\n```pycon\\n>>> 1\\n1\\n\\n>>> 2\\n2\\n```\\n\\nTwo.'
"""

from __future__ import annotations

import re
from typing import Any

try:
    from griffe import Extension
except ImportError:  # For the doctest alone.
    Extension = object

# From a prompt to the next empty line that no other prompt follows.
_EXAMPLE = re.compile(r"^>>> .*?(?=\n\s*\n(?!>>> )|\Z)", re.MULTILINE | re.DOTALL)


def fenced(text: str) -> str:
    """The text with its examples between fences."""
    return _EXAMPLE.sub(lambda example: f"```pycon\n{example[0].rstrip()}\n```", text)


class Doctests(Extension):
    """Fences the examples of every object."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)
