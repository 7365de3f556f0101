"""What a command printed, taken apart: its answer or its error, the usage, the model.

`json` is one document. `jsonl` is one a line, of which what comes last decides: an error that was followed by an answer
has been got over, an answer that was followed by an error is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hooks import jsonio
from hooks.agents.answer_path import AnswerPath
from hooks.definition.model import CommandAgent
from hooks.errors import JsonBorderError

ABSENT = object()
_DEFAULT_USAGE = ("usage",)
_DEFAULT_MODEL = "model"


@dataclass(frozen=True, slots=True)
class Printed:
    """What there was to be found; `answer` is ABSENT where there is none."""

    answer: Any = ABSENT
    error: Any = None
    usage: dict[str, Any] | None = None
    model: str | None = None


class PrintedForm:
    """Reads stdout as a declaration says. Raises UsageError for a path that is none."""

    def __init__(self, declaration: CommandAgent) -> None:
        self._is_lines = declaration.output == "jsonl"
        self.extract = AnswerPath(declaration.extract) if declaration.extract is not None else None
        self._errors = _paths(declaration.error_extract)
        self._usage = _paths(declaration.usage_extract or _DEFAULT_USAGE)
        self._model = AnswerPath(declaration.model_extract or _DEFAULT_MODEL)

    def read(self, stdout: str) -> Printed:
        """Raises JsonBorderError for what is no JSON: the document, or every line."""
        documents = _lines(stdout) if self._is_lines else [jsonio.parse_strict(stdout.encode())]
        answer, error = ABSENT, None
        for document in documents:
            said = next((found for path in self._errors if (found := path.find(document))), None)
            # false, "", null, [] and {} are how a tool says "no error".
            if said:
                error = said
            found = document if self.extract is None else self.extract.find(document, ABSENT)
            if found is not ABSENT:
                answer = found
                if self._is_lines and not said:
                    error = None
        usages = [usage for document in documents if (usage := self._usage_in(document))]
        models = [model for document in documents if (model := _names(self._model.find(document)))]
        return Printed(answer, error, usages[-1] if usages else None, models[-1] if models else None)

    def _usage_in(self, document: Any) -> dict[str, Any]:
        usage: dict[str, Any] = {}
        for path in self._usage:
            found = path.find(document)
            if isinstance(found, dict):
                usage.update(found)
            elif isinstance(found, int | float) and path.last_key is not None:
                usage[path.last_key] = found
        return usage


def _paths(written: str | Sequence[str] | None) -> list[AnswerPath]:
    if written is None:
        return []
    return [AnswerPath(text) for text in ([written] if isinstance(written, str) else written)]


def _lines(stdout: str) -> list[Any]:
    """The lines that are JSON: what a tool prints beside its events (a warning, say) is none."""
    documents, refused = [], None
    for line in filter(str.strip, stdout.split("\n")):
        try:
            documents.append(jsonio.parse_strict(line.encode()))
        except JsonBorderError as error:
            refused = error
    if refused is not None and not documents:
        raise refused
    return documents


def _names(found: Any) -> str | None:
    """A model's name, or the names that are the keys of what is told of each."""
    if isinstance(found, dict):
        return ", ".join(found) or None
    return found if isinstance(found, str) and found else None
