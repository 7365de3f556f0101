"""What a hook command's exit code and stdout mean.

    0      stdout that does not begin with `{` is no opinion; else it is exactly one JSON object (below)
    2      block, with the end of stderr as the reason
    other  the hook failed

Keys of the object: decision allow|block|ask (approve and deny are accepted), reason, code, modify {field: whole value},
patch {field: RFC 7386 merge}, systemMessage, continue (false = block, with stopReason), hookSpecificOutput
{hookEventName, permissionDecision, permissionDecisionReason, updatedInput}. Where two forms contradict each other,
the stricter one holds. A key that is not known is a failure of the hook: a misspelt "no" must not pass for a "yes".
"""

from __future__ import annotations

import codecs
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from hooks.definition.durations import spelt
from hooks.definition.hook_points import HookType, alias_of
from hooks.errors import JsonBorderError
from hooks.jsonio import parse_strict
from hooks.pipeline.changes import did_you_mean
from hooks.pipeline.command_process import STDOUT_LIMIT, Ended
from hooks.pipeline.dispatch import Json, PayloadDocument
from hooks.pipeline.floor import Answer
from hooks.pipeline.tool_view import input_of_update
from hooks.pipeline.verdicts import AskPerson, Block, HookFault, Modify, Opinion

BLOCK_EXIT = 2
_HINTS = {126: " (found, but not executable)", 127: " (a command it calls was not found)"}
_IGNORED = ("suppressOutput", "additionalContext")


def read_answer(ended: Ended, document: PayloadDocument, timeout_ms: int, event_name: str) -> Answer:
    """What the command said about `document`, the hook point being told to it as `event_name`.

    Raises HookFault when it failed or cannot be understood.
    """
    messages = ["it left a process behind, which was ended"] if ended.left_behind else []
    if ended.is_timed_out:
        raise HookFault(f"no answer within its timeout of {spelt(timeout_ms)}{_said(ended)}")
    if ended.exit == BLOCK_EXIT:
        return Answer(Block(f"exit {BLOCK_EXIT}{_said(ended)}"), messages)
    if ended.exit != 0:
        raise HookFault(f"{_ending(ended.exit)}{_said(ended)}")
    if ended.is_stdout_cut:
        raise HookFault(f"it printed more than {STDOUT_LIMIT} bytes on stdout")
    text = _without_mark(ended.stdout).lstrip()
    if not text.startswith(b"{"):
        plain = text.decode("utf-8", "replace").strip()
        return Answer(None, [*messages, *([f"ignored: not a JSON object: {plain}"] if plain else [])])
    reading = _Reading(document, event_name, _parsed(text), messages)
    return Answer(reading.opinion(), reading.messages)


Word: TypeAlias = Literal["allow", "ask", "block"]
_WORDS: dict[str, Word] = {"allow": "allow", "approve": "allow", "ask": "ask", "block": "block", "deny": "block"}
_STRICTER: tuple[Word, ...] = ("block", "ask")
_NO_REASON = "no reason given"


@dataclass(frozen=True, slots=True)
class _Said:
    """One of the forms in which an answer may decide."""

    word: Word
    reason: str | None = None
    code: str | None = None


@dataclass(slots=True)
class _Reading:
    """One JSON answer being read; collects what is to be told beside its opinion."""

    document: PayloadDocument
    event_name: str
    answer: Mapping[str, Any]
    messages: list[str] = field(default_factory=list)

    def opinion(self) -> Opinion:
        for key in self.answer:
            if key not in _KEYS:
                hint = did_you_mean(key, _KEYS) or f"; an answer takes {', '.join(_KEYS)}"
                raise HookFault(f"its answer has an unknown key {key!r}{hint}")
        self._tell()
        said = [self._decision(), self._continue(), self._permission()]
        changes = self._changes()
        for word in _STRICTER:
            for form in said:
                if form.word == word:
                    return self._stricter(form, changes)
        return Modify(changes) if changes else None

    def _stricter(self, form: _Said, changes: dict[str, Json]) -> Opinion:
        reason = form.reason or _NO_REASON
        return Block(reason, form.code) if form.word == "block" else AskPerson(reason, changes)

    def _tell(self) -> None:
        message = self._text("systemMessage")
        if message:
            self.messages.append(message)
        self.messages += [f"{key} is ignored" for key in _IGNORED if key in self.answer]

    def _decision(self) -> _Said:
        return _Said(_word_in(self.answer, "decision"), self._text("reason"), self._text("code"))

    def _continue(self) -> _Said:
        goes_on = self.answer.get("continue", True)
        if not isinstance(goes_on, bool):
            raise HookFault(f"`continue` is true or false, not {goes_on!r}")
        return _Said("allow" if goes_on else "block", self._text("stopReason"), self._text("code"))

    def _permission(self) -> _Said:
        specific = _object_in(self.answer, "hookSpecificOutput")
        self.messages += [f"hookSpecificOutput.{key} is ignored" for key in specific if key not in _SPECIFIC_KEYS]
        event, point = _text_in(specific, "hookEventName"), self.document["hook"]
        if event not in (None, self.event_name, point, alias_of(point)):
            self.messages.append(f"hookEventName is {event!r}, but this is {self.event_name}")
        return _Said(_word_in(specific, "permissionDecision"), _text_in(specific, "permissionDecisionReason"))

    def _changes(self) -> dict[str, Json]:
        changes = dict(_object_in(self.answer, "modify"))
        for name, patch in _object_in(self.answer, "patch").items():
            if name in changes:
                raise HookFault(f"both `modify` and `patch` change {name!r}")
            changes[name] = merge_patch(self.document.get(name), patch)
        specific = _object_in(self.answer, "hookSpecificOutput")
        if specific.get("updatedInput") is not None:
            if "input" in changes:
                raise HookFault("both `updatedInput` and `modify` or `patch` change 'input'")
            updated = _object_in(specific, "updatedInput")
            is_effect = self.document["hook"] == HookType.EFFECT_PRE_ATTEMPT
            changes["input"] = input_of_update(self.document, updated) if is_effect else dict(updated)
        return changes

    def _text(self, key: str) -> str | None:
        return _text_in(self.answer, key)


_KEYS = (
    "decision",
    "reason",
    "code",
    "modify",
    "patch",
    "systemMessage",
    "continue",
    "stopReason",
    "hookSpecificOutput",
    *_IGNORED,
)
_SPECIFIC_KEYS = ("hookEventName", "permissionDecision", "permissionDecisionReason", "updatedInput")


def merge_patch(target: Json, patch: Json) -> Json:
    """RFC 7386: the target with the patch merged in; null removes a key."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


def _without_mark(stdout: bytes) -> bytes:
    """The text without the byte order mark that some tools begin it with: a "no" behind one is a "no"."""
    if stdout.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise HookFault("its stdout is UTF-16; print UTF-8")
    return stdout.removeprefix(codecs.BOM_UTF8)


def _parsed(text: bytes) -> Mapping[str, Any]:
    try:
        parsed = parse_strict(text)
    except JsonBorderError as error:
        raise HookFault(f"its stdout begins like a JSON object but is none: {error}") from error
    assert isinstance(parsed, dict), "one JSON value that begins with a brace is an object"
    return parsed


def _word_in(holder: Mapping[str, Any], key: str) -> Word:
    word = holder.get(key)
    if word is None:
        return "allow"
    if not isinstance(word, str) or word not in _WORDS:
        raise HookFault(f"`{key}` is allow, block or ask, not {word!r}")
    return _WORDS[word]


def _text_in(holder: Mapping[str, Any], key: str) -> str | None:
    text = holder.get(key)
    if text is not None and not isinstance(text, str):
        raise HookFault(f"`{key}` is text, not {text!r}")
    return text


def _object_in(holder: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = holder.get(key)
    if found is not None and not isinstance(found, dict):
        raise HookFault(f"`{key}` is an object, not {found!r}")
    return found or {}


def _ending(exit: int) -> str:
    if exit >= 0:
        return f"exit {exit}{_HINTS.get(exit, '')}"
    try:
        name = signal.Signals(-exit).name
    except ValueError:
        name = f"signal {-exit}"
    return f"ended by {name}"


def _said(ended: Ended) -> str:
    tail = ended.stderr.decode("utf-8", "replace").strip()[-_LONGEST_TAIL:]
    return f": {tail}" if tail else ""


_LONGEST_TAIL = 2_000
