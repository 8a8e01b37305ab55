"""Millstream's SQL: a superset of Spark's, read into statements that know their places.

The package shares its name with the function `millstream.sql(text, **streams)`, and Python binds a
package to that name as soon as a part of it is imported. So the package can be called, too.
"""

import sys
from types import ModuleType
from typing import Any


class _CallableModule(ModuleType):
    def __call__(self, *args: Any, **streams: Any) -> Any:
        from importlib import import_module

        return import_module("millstream.api").sql(*args, **streams)


sys.modules[__name__].__class__ = _CallableModule
