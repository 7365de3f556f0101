#!/bin/sh
# No step draws more often than this, whatever its `sampling` says. A run can ask for less: --meta max_draws=2.
#
#   DRAWS  draws of one loop at the most (4 is the default)
exec jq --compact-output --arg draws "${DRAWS:-4}" '
  ([$draws, .user_metadata.max_draws // empty] | map(tonumber) | [min, 1] | max) as $most
  | if .loop_budget > $most then {modify: {loop_budget: $most}} else empty end'
