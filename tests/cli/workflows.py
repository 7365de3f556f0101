"""Workflows for the tests of the command line: gates, a loop, a fan-out, steps that fail or last."""

from __future__ import annotations

TWO_GATES = """\
workflow_id: two-gates
version: 1
nodes:
  left: {executor: file, human_gate: {prompt: "Left?"}, input: {path: left.txt, content: x}}
  right: {executor: file, human_gate: {prompt: "Right?", approvers: [boss]}, input: {path: right.txt, content: x}}
"""
ONE_GATE = """\
workflow_id: one-gate
version: 1
nodes:
  write: {executor: file, human_gate: {prompt: "Write it?"}, input: {path: out.txt, mode: append, content: "x\\n"}}
"""
REVIEW = """\
workflow_id: review
version: 1
agents: {writer: {kind: command, argv: [cat]}}
nodes:
  rounds: {body: [draft, note, ok], max_iterations: 4, terminate: {node: ok, via: human_gate}, output: {from: draft}}
  draft: {agent: writer, prompt: "after <${ok.previous.comment}>"}
  note: {executor: file, depends: [draft], input: {path: notes.txt, mode: append, content: "${draft.output}\\n"}}
  ok: {type: decision, depends: [note], human_gate: {prompt: "Good? ${draft.output}"}}
"""
PAGES = """\
workflow_id: pages
version: 1
params: {pages: {type: array, default: [one, two, three]}}
nodes:
  read:
    executor: shell
    read_only: true
    for_each: "${params.pages}"
    input: {argv: [sh, -c, "echo $0; test $0 != bad", "${item}"]}
"""
TEN_STEPS = """\
workflow_id: ten
version: 1
on_failure: continue
nodes:
""" + "".join(f"  s{n}: {{executor: shell, read_only: true, input: {{argv: [./step.sh, s{n}]}}}}\n" for n in range(10))
STEP = """\
#!/bin/sh
# One of ten steps: every call leaves a line, and the first three fail until somebody has fixed them.
echo "$1" >> calls
case "$1" in s0 | s1 | s2) test -e fixed ;; esac
"""
