#!/bin/sh
# Waits until there is a tunnel to every other site. Arguments: the seconds to wait at most, then SITE=TUNNEL for each tunnel. Dials
# those that are down. Prints "up TUNNEL" for each that is up in the end, and "none SITE" for each site without any.
end=$(($(date +%s) + $1))
shift

while :; do
  up=$(swanctl --list-sas | sed -n 's/^  \([^ :]*\): #[0-9]*, reqid [0-9]*, INSTALLED.*/\1/p')
  missing=
  for pair; do
    site=${pair%%=*}
    reached=
    for other; do
      if [ "${other%%=*}" = "$site" ] && echo "$up" | grep -qxF "${other#*=}"; then reached=yes; fi
    done
    [ "$reached" ] || missing="$missing $pair"
  done
  if [ -z "$missing" ] || [ "$(date +%s)" -ge "$end" ]; then break; fi
  # It returns when the tunnel is up, when the other end refuses, or after its timeout.
  for pair in $missing; do swanctl --initiate --child "${pair#*=}" --timeout 5 >/dev/null 2>&1 || sleep 1; done
done

for pair; do if echo "$up" | grep -qxF "${pair#*=}"; then echo "up ${pair#*=}"; fi; done
for pair in $missing; do echo "none ${pair%%=*}"; done | sort -u
