"""Millstream's SQL, a superset of Spark SQL, parsed into statements with positions.

The package has the same name as the function `millstream.sql(text, **streams)`. Python binds the
name to the package as soon as one of its modules is imported, so the package is callable, too.
"""

import sys
from types import ModuleType
from typing import Any


class _CallableModule(ModuleType):
    def __call__(self, *args: Any, **streams: Any) -> Any:
        from importlib import import_module

        return import_module("millstream.api").sql(*args, **streams)


sys.modules[__name__].__class__ = _CallableModule
