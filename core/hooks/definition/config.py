"""Configuration: `.hooks/config.yaml` of the nearest ancestor with `.hooks/`, over the user's own.

A setting of the project wins over the user's; hooks add up, the user's first. No file is needed, and without one
nothing is parsed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from hooks.definition.agents_section import read_agents
from hooks.definition.defaults_section import Defaults, read_defaults
from hooks.definition.executors_section import read_executors
from hooks.definition.fields import Fields, Keys, read_fields
from hooks.definition.hooks_section import Origin, read_hooks
from hooks.definition.model import AgentDeclaration, ExecutorDeclaration, HookEntry
from hooks.definition.source import read_file, read_source, read_source_if_any
from hooks.definition.tree import Sequence
from hooks.definition.values import read_choice, read_text
from hooks.errors import DefinitionError

RecordHooks: TypeAlias = Literal["changes", "all"]

_KEYS = Keys(
    "a config",
    {
        "agents": "Agents by name, for every workflow.",
        "executors": "Executors by name, for every workflow.",
        "hooks": "A list of hooks that every run is asked to.",
        "defaults": "What holds where neither step nor workflow says anything.",
        "runs_dir": "The directory of runs.",
        "record_hooks": "Which decisions of hooks are logged: `changes` (if left out: all but a bare allow) or `all`.",
    },
    frozenset({"engine", "retention"}),
    {"bots": "agents"},
)
_HOOKS_FILE_KEYS = Keys("a hooks file", frozenset({"hooks"}))


@dataclass(frozen=True, slots=True)
class Config:
    """What the config files say together; None where they say nothing. `runs_dir` is absolute."""

    agents: dict[str, AgentDeclaration] = field(default_factory=dict)
    executors: dict[str, ExecutorDeclaration] = field(default_factory=dict)
    hooks: list[HookEntry] = field(default_factory=list)
    defaults: Defaults = field(default_factory=Defaults)
    runs_dir: Path | None = None
    record_hooks: RecordHooks | None = None

    def over(self, other: Config) -> Config:
        """This config, completed by `other`, whose hooks come first."""
        return Config(
            agents={**other.agents, **self.agents},
            executors={**other.executors, **self.executors},
            hooks=[*other.hooks, *self.hooks],
            defaults=self.defaults.over(other.defaults),
            runs_dir=self.runs_dir or other.runs_dir,
            record_hooks=self.record_hooks or other.record_hooks,
        )


def load_config(start: Path, environ: Mapping[str, str], *, check_files: bool = False) -> Config:
    """The config that holds in the directory `start`; with `check_files` the files its hooks name are looked for.

    Raises DefinitionError with the problems of both files.
    """
    project = project_directory(start)
    files: list[tuple[Path, Origin]] = [
        (_user_directory(environ, "XDG_CONFIG_HOME", ".config") / "config.yaml", "user")
    ]
    if project is not None:
        files.append((project / "config.yaml", "project"))
    config = Config()
    problems = []
    for path, origin in files:
        # What is there and no file (a directory, a link to nowhere) was meant to be one, and is told.
        if not os.path.lexists(path):
            continue
        try:
            config = _load_file(path, origin, check_files=check_files).over(config)
        except DefinitionError as error:
            problems.extend(error.problems)
    if problems:
        raise DefinitionError(problems)
    return config


def load_hooks_file(path: Path, *, check_files: bool = False) -> list[HookEntry]:
    """The hooks of a `--hooks` file: a `hooks:` list, or the bare list. Raises DefinitionError.

    With `check_files` the files they name are looked for.
    """
    source, root = read_source(read_file(path), str(path), "write `hooks:` and a list")
    hooks_node = root
    if not isinstance(root, Sequence):
        fields = read_fields(source, root, _HOOKS_FILE_KEYS, "the hooks file")
        found = fields.require("hooks", "write `hooks:` and a list") if fields is not None else None
        source.raise_problems()
        assert found is not None, "a missing list is a problem"
        hooks_node = found
    source.base = path.absolute().parent if check_files else None
    hooks = read_hooks(source, hooks_node, origin="flag", declared_in=str(path.absolute()))
    source.raise_problems()
    return [hook.entry for hook in hooks]


def resolve_runs_dir(flag: str | Path | None, environ: Mapping[str, str], start: Path, config: Config) -> Path:
    """The absolute directory of runs: flag, HOOKS_RUNS_DIR, config, the project's `.hooks/runs`, the user's state."""
    given = flag or environ.get("HOOKS_RUNS_DIR")
    if given:
        return start.absolute() / given
    if config.runs_dir is not None:
        return config.runs_dir
    project = project_directory(start)
    if project is not None:
        return project / "runs"
    return _user_directory(environ, "XDG_STATE_HOME", ".local/state") / "runs"


def project_directory(start: Path) -> Path | None:
    """The `.hooks` directory of the nearest ancestor that has one, `start` included."""
    directory = start.absolute()
    for ancestor in (directory, *directory.parents):
        if os.path.isdir(ancestor / ".hooks"):
            return ancestor / ".hooks"
    return None


def _user_directory(environ: Mapping[str, str], variable: str, below_home: str) -> Path:
    base = environ.get(variable, "")
    # The base directory specification has relative paths ignored.
    if os.path.isabs(base):
        return Path(base) / "hooks"
    return Path(environ.get("HOME") or os.path.expanduser("~")) / below_home / "hooks"


def _load_file(path: Path, origin: Origin, *, check_files: bool) -> Config:
    source, root = read_source_if_any(read_file(path), str(path))
    if root is None:
        return Config()
    fields = read_fields(source, root, _KEYS, "the config")
    config = _read(fields, path, origin, check_files=check_files) if fields is not None else Config()
    source.raise_problems()
    return config


def _read(fields: Fields, path: Path, origin: Origin, *, check_files: bool) -> Config:
    source = fields.source
    declared_in = str(path.absolute())
    agents_node, executors_node = fields.value("agents"), fields.value("executors")
    hooks_node, defaults_node = fields.value("hooks"), fields.value("defaults")
    # An agent of a config is looked for from the directory of each workflow that uses it, so not here.
    agents = read_agents(source, agents_node) if agents_node is not None else {}
    source.base = path.absolute().parent if check_files else None
    hooks = read_hooks(source, hooks_node, origin=origin, declared_in=declared_in) if hooks_node is not None else []
    return Config(
        agents=agents,
        executors=read_executors(source, executors_node, declared_in=declared_in) if executors_node is not None else {},
        hooks=[hook.entry for hook in hooks],
        defaults=read_defaults(source, defaults_node) if defaults_node is not None else Defaults(),
        runs_dir=_runs_dir(fields, path),
        record_hooks=_record_hooks(fields),
    )


def _runs_dir(fields: Fields, path: Path) -> Path | None:
    node = fields.value("runs_dir")
    text = read_text(fields.source, node, "`runs_dir`") if node is not None else None
    return path.absolute().parent / os.path.expanduser(text) if text else None


def _record_hooks(fields: Fields) -> RecordHooks | None:
    node = fields.value("record_hooks")
    match read_choice(fields.source, node, "`record_hooks`", ("changes", "all")) if node is not None else None:
        case "changes":
            return "changes"
        case "all":
            return "all"
        case _:
            return None
