#!/bin/sh
# Only commands that are on the list, by the very word they are called by: `git` allows git, not /tmp/git.
#
#   policies/command_allowlist.sh git make jq
#
# A script can call anything, so it needs a person; so does `sh -c`, unless sh is on the list.
exec jq --exit-status --null-input --args --slurpfile payload /dev/stdin '
  $payload[0].input as $input
  | $ARGS.positional as $allowed
  | if ($input.argv | type) == "array"
    then $input.argv[0] as $program
      | if $allowed | index($program) then {decision: "allow"}
        else {decision: "block", code: "NotAllowed", reason: "\($program) is not among: \($allowed | join(", "))"}
        end
    else {decision: "ask", reason: "a script, which may call anything: \($input.script // "" | .[:200])"}
    end' "$@"
