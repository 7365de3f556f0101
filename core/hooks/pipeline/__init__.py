"""The hook pipeline: what a run's hooks are asked, in which order, and what their answers come to.

The modules a run without hooks needs (verdicts, dispatch, hook_set, listeners, payloads, pipeline) import neither
pydantic nor asyncio machinery of their own; `chain` and what it stands on are loaded by `Pipeline.open` once somebody
listens.
"""
