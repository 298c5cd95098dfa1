#!/bin/sh
# Prints what a gateway's tunnels have carried since their keys were last renewed: "carried", then "carried TUNNEL IN OUT" for each pair of
# keys, in bytes. Changes nothing. Prints nothing when strongSwan does not answer.
root=
[ "$(id -u)" = 0 ] || root='sudo -n'
# shellcheck disable=SC2086 # words, or none
if shown=$(timeout 3 $root swanctl --list-sas 2>/dev/null </dev/null); then
  echo carried
  echo "$shown" | awk '
    /^  [^ ]+: #[0-9]+, reqid / { name = substr($1, 1, length($1) - 1) }
    ($1 == "in" || $1 == "out") && match($0, /[0-9]+ bytes/) { bytes[$1] = substr($0, RSTART, RLENGTH - 6) "" }
    $1 == "out" && name != "" { print "carried", name, bytes["in"], bytes["out"]; name = "" }'
fi
