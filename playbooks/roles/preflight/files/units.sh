#!/bin/sh
# Looks at the services of a gateway or a node, and changes nothing. Prints a line "unhealthy ..." for each one that has failed or is
# restarted again and again, with the last line of its journal. One that is not there, or that was stopped, is not told.
# How many restarts, the last less than how many seconds ago, are too many. A kubelet that waits for the control plane restarts less often.
restarts=3 recently=60
# shellcheck disable=SC2046 # each unit is a word
systemctl show --property=Id,ActiveState,SubState,NRestarts,ActiveEnterTimestampMonotonic -- \
  $(systemctl list-units --all --plain --no-legend --type=service 'longhaul-*' 2>/dev/null | awk '{ print $1 }') \
  strongswan.service containerd.service kubelet.service kube-proxy.service 2>/dev/null |
  awk -F= -v restarts=$restarts -v recently=$recently -v now="$(cut -d. -f1 /proc/uptime)" '
    function tell() {
      since = now - had["ActiveEnterTimestampMonotonic"] / 1000000
      if (had["ActiveState"] == "failed") print had["Id"], "has failed"
      else if (had["NRestarts"] >= restarts && (had["ActiveState"] != "active" || since < recently))
        print had["Id"], "is restarted again and again, " had["NRestarts"] " times so far"
      delete had
    }
    $0 == "" { tell(); next }
    { had[$1] = $2 }
    END { if ("Id" in had) tell() }' |
  while read -r unit said; do
    last=$(journalctl --unit="$unit" --lines=100 --output=cat --no-pager 2>/dev/null |
      grep -v "^$unit: \|^Start\(ed\|ing\) \|^Stop\(ped\|ping\) " | tail -n 1 | cut -c 1-300)
    echo "unhealthy $unit $said${last:+: $last}"
  done
