"""Pages of the reference that are made from the program itself: commands, settings and names.

`scripts/site_hooks.py` adds them to the site whenever it is built, so that they cannot be out of date.
"""

import re
from argparse import SUPPRESS, Action, ArgumentParser, _SubParsersAction
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from inspect import getdoc
from textwrap import fill
from typing import Any, get_args

import yaml
from annotated_types import Ge, Gt, Le, Lt
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from dartboard.cli.commands import COMMANDS, CommandParser, add_commands
from dartboard.config.schema import NAMED, format_default, option_rows, type_name
from dartboard.errors import DartboardError

GUIDES = {
    "search": "own-images.md",
    "train": "training.md",
    "protocol": "training.md",
    "bench": "bench.md",
    "sweep": "scaling-out.md",
    "runs": "runs.md",
    "report": "reading-a-report.md",
    "evaluate": "training.md",
    "export": "export.md",
    "analyse": "analyse.md",
    "info": "getting-started.md",
    "oracle": "oracles.md",
    "data": "data.md",
    "demo": "getting-started.md",
    "reproduce": "papers/index.md",
}
"""The guide that introduces a command, below docs."""
CONFIGURED = {
    "search": "search",
    "train": "train",
    "protocol": "protocol",
    "bench": "bench",
    "sweep": "sweep",
}
"""The page with the settings of a command."""
LIMITS = {Ge: ("at least", "ge"), Gt: ("above", "gt"), Le: ("at most", "le"), Lt: ("below", "lt")}
Pages = dict[str, str]
"""Markdown by path below docs/reference."""


def reference_pages() -> Pages:
    """All pages that are made from the program."""
    return {**command_pages(), **settings_pages()}


# Commands


COMMANDS_HEAD = """\
# Commands

Every command with all its arguments, as `dartboard COMMAND --help` prints them. An error is one line on
standard error and exit code 2.
"""


def command_pages() -> Pages:
    """A page for each command, with its subcommands as sections, and an index."""
    parsers = _subcommands(_program())
    pages = {f"commands/{name}.md": _command_page(name, parser) for name, parser in parsers.items()}
    rows = [(f"[`dartboard {name}`]({name}.md)", _first_sentence(parser)) for name, parser in parsers.items()]
    pages["commands/index.md"] = "\n".join([COMMANDS_HEAD, *_table(("command", "what it does"), rows)])
    return pages


def _program() -> ArgumentParser:
    parser = CommandParser("dartboard")
    add_commands(parser, COMMANDS, title="commands", name="command")
    return parser


def _subcommands(parser: ArgumentParser) -> dict[str, ArgumentParser]:
    """Parsers of subcommands, each with its arguments declared."""
    found = {}
    for action in parser._actions:
        if isinstance(action, _SubParsersAction):
            for name, inner in action.choices.items():
                with suppress(DartboardError):  # parsing declares the arguments; some of them are required
                    inner.parse_known_args([])
                found[name] = inner
    return found


def _command_page(name: str, parser: ArgumentParser) -> str:
    lines = [f"# dartboard {name}", "", *_command_body(parser)]
    links = []
    if name in GUIDES:
        links.append(f"[Guide](../../{GUIDES[name]})")
    if name in CONFIGURED:
        links.append(f"[settings](../settings/{CONFIGURED[name]}.md)")
    if links:
        lines[2:2] = [f"{', '.join(links)}.", ""]
    for word, inner in _subcommands(parser).items():
        lines += [f"## dartboard {name} {word}", "", *_command_body(inner)]
        for deeper, innermost in _subcommands(inner).items():
            lines += [f"### dartboard {name} {word} {deeper}", "", *_command_body(innermost)]
    return "\n".join(lines)


def _command_body(parser: ArgumentParser) -> list[str]:
    words = " ".join(parser.format_usage().removeprefix("usage: ").split())
    usage = fill(words, 90, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    lines = [_escape_html(_prose(parser.description or "")), "", "```text", usage, "```", ""]
    actions = [action for action in parser._actions if action.help is not SUPPRESS and action.dest != "help"]
    rows = [
        (_argument(action), _help(parser, action))
        for action in actions
        if not isinstance(action, _SubParsersAction)
    ]
    return [*lines, *(_table(("argument", "meaning"), rows) if rows else [])]


def _argument(action: Action) -> str:
    """An argument as it is typed."""
    value = action.metavar or (action.dest.upper() if action.option_strings else action.dest)
    values = " ".join(value) if isinstance(value, tuple) else str(value)
    if action.choices is not None and action.metavar is None:
        values = "{" + ",".join(map(str, action.choices)) + "}"
    typed = "" if action.nargs == 0 else values
    return f"`{' '.join(filter(None, [', '.join(action.option_strings), typed]))}`"


def _help(parser: ArgumentParser, action: Action) -> str:
    about = parser._get_formatter()._expand_help(action) if action.help else ""
    required = " (required)" if action.required and action.option_strings else ""
    return f"{about}{required}"


def _first_sentence(parser: ArgumentParser) -> str:
    return re.split(r"\.\s", _prose(parser.description or ""), maxsplit=1)[0].rstrip(".")


def _prose(text: str) -> str:
    """A docstring as Markdown: paragraphs stay, indented blocks become code."""
    blocks = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        if all(line.startswith("    ") for line in block.splitlines()):
            body = "\n".join(line[4:] for line in block.splitlines())
            blocks.append(f"```text\n{body}\n```")
        else:
            blocks.append(" ".join(block.split()))
    return "\n\n".join(blocks)


# Settings


def settings_pages() -> Pages:
    """A page for each kind of configuration, and for methods, spaces, recipes and other names."""
    from dartboard.scoreboard.config import BenchConfig
    from dartboard.search.config import SearchConfig
    from dartboard.sweep.config import StageConfig, SweepConfig
    from dartboard.sweep.protocol.config import ProtocolConfig
    from dartboard.train.config import TrainConfig

    protocol = [row for row in settings_rows(ProtocolConfig) if not row[0].startswith(("search.", "train."))]
    inner = [
        ("search.KEY", "", "", "", "a [setting of searches](search.md)"),
        ("train.KEY", "", "", "", "a [setting of trainings](train.md)"),
    ]
    stage = {row[0] for row in settings_rows(StageConfig)}
    sweep = settings_rows(SweepConfig)
    kinds = {
        "search": ("Settings of a search", "own-images.md", settings_rows(SearchConfig)),
        "train": ("Settings of a training", "training.md", settings_rows(TrainConfig)),
        "protocol": ("Settings of a protocol", "training.md", [*protocol, *inner]),
        "bench": ("Settings of a bench", "bench.md", settings_rows(BenchConfig)),
        "sweep": ("Settings of a sweep", "scaling-out.md", sweep),
    }
    pages = {}
    for name, (title, guide, rows) in kinds.items():
        command = f"[`dartboard {name}`](../commands/{name}.md)"
        lines = [f"# {title}", "", f"Used by {command}. [Guide](../../{guide}).", "", *_settings_table(rows)]
        if name == "sweep":
            keys = ", ".join(f"`{row[0]}`" for row in sweep if row[0] in stage)
            lines += [f"A stage (`stages.NAME`) has the keys {keys}.", ""]
        pages[f"settings/{name}.md"] = "\n".join(lines)
    pages["settings/executors.md"] = _executors_page()
    pages["settings/methods.md"] = _methods_page()
    pages["settings/spaces.md"] = _spaces_page()
    pages["settings/recipes.md"] = _recipes_page()
    pages["settings/names.md"] = _names_page()
    pages["settings/index.md"] = SETTINGS
    return pages


SETTINGS = """\
# Settings

Every setting has a type, limits and a default, and unknown names are refused with a hint. Settings come from
these sources, later ones overriding earlier ones:

1. the defaults in these tables,
2. a [recipe](recipes.md): `--recipe darts`,
3. a YAML file: `--config FILE`, such as the `config.yaml` of a run,
4. environment variables: `DARTBOARD_SEARCH_WEIGHTS__LR=0.05`,
5. flags: `--epochs 25`,
6. `KEY=VALUE` on the command line: `weights.lr=0.05`.

| page | settings of |
|---|---|
| [search](search.md) | `dartboard search`, `dartboard.Searcher`, `kind: search` |
| [train](train.md) | `dartboard train`, `dartboard.Trainer`, `kind: train` |
| [protocol](protocol.md) | `dartboard protocol` |
| [bench](bench.md) | `dartboard bench`, `kind: bench` |
| [sweep](sweep.md) | `dartboard sweep`, `kind: sweep` |
| [executors](executors.md) | `executor.OPTION`, where jobs run |
| [methods](methods.md) | `method.OPTION`, for each method |
| [spaces](spaces.md) | `space.name`, with the size of each space |
| [recipes](recipes.md) | `--recipe`, with all values |
| [other names](names.md) | ops, data sets, benchmark tables, export formats, published cells |
"""

Row = tuple[str, str, str, str, str]
"""Key, default, type, limits and meaning of a setting."""


def settings_rows(model: type[BaseModel]) -> list[Row]:
    """All settings of a schema, those that name something first."""

    def position(row: Row) -> tuple[int, bool]:
        group, _, name = row[0].partition(".")
        return NAMED.index(group) if group in NAMED else len(NAMED), group in NAMED and name != "name"

    return sorted(_field_rows(model, ""), key=position)


def _field_rows(model: type[BaseModel], prefix: str) -> Iterator[Row]:
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _field_rows(kind, f"{prefix}{name}.")
        else:
            default = format_default(field.get_default(call_default_factory=True))
            about = field.description or ""
            yield f"{prefix}{name}", default, type_name(kind), _field_limits(field), about
    if model.model_config.get("extra") == "allow":
        option = {"method": "methods", "executor": "executors"}[prefix.rstrip(".").rpartition(".")[2]]
        yield f"{prefix}OPTION", "", "", "", f"an option of what is named; see [{option}]({option}.md)"


def _field_limits(field: FieldInfo) -> str:
    """The limits of a field: its own, and those of the members of a union or a container."""
    return ", ".join(dict.fromkeys([*_limits(field.metadata), *_inner_limits(field.annotation)]))


def _limits(metadata: Iterable[Any]) -> Iterator[str]:
    for item in metadata:
        if isinstance(item, FieldInfo):
            yield from _limits(item.metadata)
        elif type(item) in LIMITS:
            words, attribute = LIMITS[type(item)]
            yield f"{words} {_number(getattr(item, attribute))}"


def _inner_limits(kind: Any) -> Iterator[str]:
    if hasattr(kind, "__metadata__"):
        yield from _limits(kind.__metadata__)
        kind = get_args(kind)[0]
    for inner in get_args(kind):
        yield from _inner_limits(inner)


def _number(value: float) -> str:
    if isinstance(value, int):
        power = value.bit_length() - 1
        return f"2^{power}" if value == 2**power and power > 30 else f"{value:,}"
    return f"{value:g}"


def _settings_table(rows: Sequence[Row]) -> list[str]:
    cells = [
        (f"`{key}`", f"`{default}`" if default else "", kind, limits, _escape_html(about))
        for key, default, kind, limits, about in rows
    ]
    return _table(("setting", "default", "type", "limits", "meaning"), cells)


def _executors_page() -> str:
    from dartboard.jobs.executors.local import InlineOptions, PoolOptions
    from dartboard.jobs.executors.ray import RayOptions
    from dartboard.jobs.executors.slurm import SlurmOptions

    models = {"here": InlineOptions, "pool": PoolOptions, "slurm": SlurmOptions, "ray": RayOptions}
    lines = [
        "# Executors",
        "",
        "Where jobs run: `--executor NAME`, with options such as `executor.jobs=2`.",
        "",
    ]
    lines += ["Guides: [a laptop](../../scaling-out.md), [Slurm and Ray](../../clusters.md).", ""]
    for name, model in models.items():
        rows = [(f"executor.{key}", *rest) for key, *rest in _field_rows(model, "")]
        lines += [f"## {name}", "", _first_line(model), "", *_settings_table(rows)]
    return "\n".join(lines)


def _methods_page() -> str:
    from dartboard.search import METHODS

    shared = {"gaea-darts-erm": "gaea-darts", "evolution": "random"}
    lines = [
        "# Options of the methods",
        "",
        "Each is set with `method.OPTION=VALUE`; what it means is on the ",
    ]
    lines[-1] += "[page of the method](../../methods/index.md). Numbers are finite and at most 1e30 in size."
    for name, make in METHODS.items():
        if not _ships(make):
            continue
        page = f"../../methods/{shared.get(name, name)}.md"
        lines += ["", f"## {name}", "", f"{_first_line(make)} [Mathematics and meaning]({page}).", ""]
        rows = [(f"`{row.key}`", f"`{row.default}`", row.kind) for row in option_rows(make, "method.")]
        lines += _table(("option", "default", "type"), rows) if rows else ["No options.", ""]
    return "\n".join(lines)


SPACES_HEAD = """\
# Spaces

Any of these, or a file ([how to write one](../../write-a-space.md)), is a `space.name`. `space.cells` changes
the number of cells, and `space.without` leaves ops out. `dartboard info --space NAME` prints ops, edges and
the exact number of cells that a space has.
"""


def _spaces_page() -> str:
    from dartboard.space import SPACES, get_space

    spaces = {name: get_space(name) for name, make in SPACES.items() if _ships(make)}
    rows = [
        (
            f"`{name}`",
            _first_line(SPACES[name]),
            str(space.stack.cells),
            ", ".join(group for group, _ in space.groups) if len(space.groups) < 4 else "each cell its own",
            ", ".join(f"`{op}`" for op in space.ops),
        )
        for name, space in spaces.items()
    ]
    head = ("space", "what it is", "cells", "cells that are chosen", "ops")
    return "\n".join([SPACES_HEAD, *_table(head, rows)])


def _recipes_page() -> str:
    from dartboard.search.recipes import RECIPES as SEARCHES
    from dartboard.train.recipes import RECIPES as TRAININGS

    lines = ["# Recipes", "", "What each `--recipe` sets; other settings have their defaults.", ""]
    for kind, recipes in (("search", SEARCHES), ("train", TRAININGS)):
        lines += [f"## dartboard {kind}", ""]
        for name, recipe in recipes.items():
            values = yaml.safe_dump(recipe(), sort_keys=False, default_flow_style=None, width=100)
            lines += [
                f"### {name} ({kind})",
                "",
                f"{_first_line(recipe)}",
                "",
                "```yaml",
                values.rstrip(),
                "```",
                "",
            ]
    return "\n".join(lines)


def _names_page() -> str:
    from dartboard.data import DATASETS
    from dartboard.export import FORMATS
    from dartboard.nn import OPS
    from dartboard.space.published import PUBLISHED
    from dartboard.tables import TABLES

    lines = ["# Other names", ""]
    for title, guide, registry in (
        ("Data sets", "data.md", DATASETS),
        ("Ops", "write-an-op.md", OPS),
        ("Benchmark tables", "oracles.md", TABLES),
    ):
        rows = [(f"`{name}`", _escape_html(_first_line(entry))) for name, entry in registry.items()]
        lines += [f"## {title}", "", f"[Guide](../../{guide}).", "", *_table(("name", "what it is"), rows)]
    formats = [(f"`{name}`", f"`{form.suffix}`", form.description) for name, form in FORMATS.items()]
    lines += ["## Export formats", "", "[Guide](../../export.md).", ""]
    lines += _table(("format", "file", "what it is"), formats)
    cells = [(f"`{name}`", _escape_html(entry.paper)) for name, entry in PUBLISHED.items()]
    lines += ["## Published cells", "", *_table(("cell", "source"), cells)]
    return "\n".join(lines)


def _ships(thing: Any) -> bool:
    """Whether something that is registered comes with dartboard, not with another package."""
    return str(thing.__module__).startswith("dartboard.")


def _first_line(thing: object) -> str:
    return (getdoc(thing) or "").splitlines()[0]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table, followed by an empty line."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for row in rows:
        cells = (" ".join(cell.split()).replace("|", "\\|") for cell in row)
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def _escape_html(text: str) -> str:
    return text.replace("<", "&lt;")
