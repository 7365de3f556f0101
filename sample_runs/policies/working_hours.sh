#!/bin/sh
# No effects outside working hours. The time is the payload's own, so that a replay judges what was, not what is.
#
#   HOURS  first and last hour, in UTC: 08-18 is from 8:00 to 17:59 (the default)
#   DAYS   days of the week, 1 is Monday: 12345 (the default)
exec jq --exit-status --raw-output --arg hours "${HOURS:-08-18}" --arg days "${DAYS:-12345}" '
  (.timestamp | sub("\\.[0-9]+Z$"; "Z") | fromdate | gmtime) as $now
  | ($hours | split("-") | map(tonumber)) as [$from, $to]
  | (($now[6] + 6) % 7 + 1 | tostring) as $day
  | if .read_only or (($days | contains($day)) and $now[3] >= $from and $now[3] < $to)
    then {decision: "allow"}
    else {decision: "block", code: "OutsideHours", reason: "no effects at \(.timestamp): outside \($hours) UTC on days \($days)"}
    end'
