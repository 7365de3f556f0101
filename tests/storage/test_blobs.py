from __future__ import annotations

import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.storage.builders import add_group, events_of, finished_run, make_run, output

from hooks.errors import CorruptRunError, StorageError
from hooks.events.payloads import (
    ComponentFailed,
    ErrorInfo,
    GenerationStarted,
    HookChange,
    HookDecided,
    HookDecision,
    Payload,
)
from hooks.storage.blobs import BlobReference, BlobStore, reference_in, references_in

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=50),
    lambda children: st.lists(children, max_size=4)
    | st.dictionaries(st.text(max_size=8) | st.just("outputHash"), children, max_size=4),
    max_leaves=12,
)  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> BlobStore:
    return BlobStore(tmp_path, "strict")


def spill(store: BlobStore, payload: Payload) -> Any:
    return store.spill(payload, len(msgspec.json.encode(payload)))


@settings(max_examples=60, deadline=None)
@given(value=JSON, repeat=st.sampled_from([1, 3_000]))
def test_what_goes_into_a_log_comes_out_of_it(value: Any, repeat: int) -> None:
    value = value * repeat if isinstance(value, str | list) else value
    with tempfile.TemporaryDirectory() as directory:
        run = finished_run(Path(directory), [output(value)])
        event = events_of(run)[2]

        resolved = run.blob_store().resolve(event.payload.output)  # type: ignore[attr-defined]

    assert resolved == value
    assert orjson.dumps(resolved, option=orjson.OPT_SORT_KEYS) == orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def test_a_value_of_8_kib_stays_inline_and_a_larger_one_does_not(store: BlobStore) -> None:
    at_limit, above = "x" * (8192 - 2), "x" * (8192 - 1)

    assert spill(store, output(at_limit))["output"] == at_limit
    digest = sha256(above.encode()).hexdigest()
    assert spill(store, output(above))["output"] == {
        "outputHash": digest,
        "outputPath": f"blobs/{digest}",
        "outputBytes": 8191,
        "contentType": "text/plain; charset=utf-8",
    }


def test_text_is_kept_raw_and_other_values_as_canonical_json(store: BlobStore, tmp_path: Path) -> None:
    text, other = store.store("ä\r\n"), store.store({"b": 1, "a": 2})

    assert (tmp_path / text.output_hash).read_bytes() == "ä\r\n".encode()
    assert (tmp_path / other.output_hash).read_bytes() == b'{"a":2,"b":1}'
    assert other.content_type == "application/json"
    assert (tmp_path / text.output_hash).stat().st_mode & 0o777 == 0o600


def test_the_largest_values_go_until_the_line_is_below_64_kib(store: BlobStore) -> None:
    details = {f"d{index:02}": "x" * (4000 + index) for index in range(20)}
    error = ErrorInfo(error_code="E", error_class="fatal", error_message="m", details=details)
    payload = ComponentFailed(activity_id="a", attempt_id="a::att-1", node_id="a", error=error)

    form = spill(store, payload)

    spilled = [key for key, value in form["error"]["details"].items() if isinstance(value, dict)]
    assert spilled == ["d16", "d17", "d18", "d19"]
    assert len(orjson.dumps(form)) < 64 * 1024


def test_a_mapping_that_looks_like_a_reference_is_data_and_comes_back_as_such(tmp_path: Path) -> None:
    """A model that prints a reference must not get at a file of ours."""
    spoof = {"outputHash": "0" * 64, "outputPath": "../../etc/passwd", "outputBytes": 1, "contentType": "text/plain"}
    run = finished_run(tmp_path, [output(spoof)])
    payload: Any = events_of(run)[2].payload

    assert payload.output["outputHash"] != "0" * 64
    assert run.blob_store().resolve(payload.output) == spoof


def test_what_hooks_changed_and_told_may_be_large_or_look_like_a_reference(store: BlobStore) -> None:
    decision = HookDecision(
        plugin="p", origin="flag", digest="d", mode="sequential", outcome="changed",
        changed={"prompt": HookChange(before="x" * 9000, after={"outputHash": 1})},
        details={"why": ["y" * 9000], "short": 1},
    )  # fmt: skip
    payload = HookDecided(
        hook="component_pre_execute", ordinal=1, payload_digest="d", verdict="changed", decisions=[decision]
    )

    [form] = spill(store, payload)["decisions"]

    change = form["changed"]["prompt"]
    assert [store.resolve(change["before"]), store.resolve(change["after"])] == ["x" * 9000, {"outputHash": 1}]
    assert {key: store.resolve(value) for key, value in form["details"].items()} == {"why": ["y" * 9000], "short": 1}
    assert change["after"]["outputHash"] == sha256(b'{"outputHash":1}').hexdigest()


def test_a_reference_moves_on_to_a_later_event_unread(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    [first] = add_group(run.log, output("x" * 9000))
    payload: Any = first.payload
    reference = reference_in(payload.output)

    [second] = add_group(
        run.log,
        GenerationStarted(
            activity_id="a", attempt_id="a::att-1", node_id="a", generation_id="g", draw=1, agent="w", prompt=reference
        ),
    )

    assert second.payload.prompt == payload.output  # type: ignore[attr-defined]
    assert list(references_in(second.payload)) == [reference]
    assert run.directory.blob_store().resolve(reference) == "x" * 9000


def test_a_blob_that_an_earlier_driver_left_half_written_is_written_again(store: BlobStore, tmp_path: Path) -> None:
    digest = BlobStore(tmp_path, "strict").store("x" * 9000).output_hash
    (tmp_path / digest).write_bytes(b"x" * 100)

    reference = store.store("x" * 9000)

    assert store.resolve(reference) == "x" * 9000
    assert [path.name for path in tmp_path.iterdir()] == [digest]


@pytest.mark.parametrize("content", [None, b"x" * 8999 + b"y", b"x" * 9001, b""])
def test_a_blob_that_is_not_what_its_name_says_is_damage(
    store: BlobStore, tmp_path: Path, content: bytes | None
) -> None:
    reference = store.store("x" * 9000)
    path = tmp_path / reference.output_hash
    path.unlink() if content is None else path.write_bytes(content)

    with pytest.raises(CorruptRunError):
        store.resolve(reference)


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "A" * 64, "0" * 63, ""])
def test_a_reference_reaches_nothing_but_blobs(store: BlobStore, tmp_path: Path, name: str) -> None:
    (tmp_path.parent / "secret").write_text("s")
    reference = BlobReference(output_hash=name, output_path=name, output_bytes=1, content_type="text/plain")

    with pytest.raises(CorruptRunError, match="not the name of a blob"):
        store.resolve(reference)


def test_a_store_whose_directory_is_gone_says_so(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="No such file"):
        BlobStore(tmp_path / "gone", "strict").store("x")
