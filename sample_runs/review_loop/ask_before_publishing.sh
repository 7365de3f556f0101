#!/bin/sh
# A policy: every file that is written is a question to a person, with where it goes and how much it is.
exec jq -c '{decision: "ask", reason: "\(.tool_input.file_path) (\(.input.content | length) characters) can be read by anybody"}'
