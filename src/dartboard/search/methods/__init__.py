"""The methods that ship with dartboard, each a short registered function that returns a composition.

Keyword arguments are options; their defaults are the papers'. See `Method` for what the parts are. Every
module of this folder registers its methods; `ORDER` is the order in which they are listed, others come after.
"""

from importlib import import_module
from pkgutil import iter_modules

ORDER = ("darts", "gdas", "pc_darts", "gaea", "xnas", "asm", "amended", "random_search", "evolution")

for _module in dict.fromkeys((*ORDER, *sorted(module.name for module in iter_modules(__path__)))):
    import_module(f"{__name__}.{_module}")
