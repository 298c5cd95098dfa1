#!/bin/sh
# Checks the services of a gateway or a node, and changes nothing. Prints a line "unhealthy ..." for each one that has failed or is
# restarted again and again, with the last line of its journal; and for each unit among the arguments that does not run. Other units that are
# missing or stopped are not reported. The exit code is not 0 when systemd cannot be asked.
# Number of restarts that are too many, and largest age of the last in seconds. A kubelet that waits for the control plane restarts less often.
restarts=3 recently=60
# shellcheck disable=SC2046 # each unit is a word
shown=$(systemctl show --property=Id,ActiveState,SubState,NRestarts,ActiveEnterTimestampMonotonic -- $({
  systemctl list-units --all --plain --no-legend --type=service 'longhaul-*' 2>/dev/null | awk '{ print $1 }'
  printf '%s\n' strongswan.service containerd.service kubelet.service kube-proxy.service "$@"
} | sort -u)) || exit
echo "$shown" |
  awk -F= -v restarts=$restarts -v recently=$recently -v now="$(cut -d. -f1 /proc/uptime)" -v needed="$*" '
    BEGIN { split(needed, units, " "); for (i in units) missed[units[i]] = 1 }
    function tell() {
      since = now - had["ActiveEnterTimestampMonotonic"] / 1000000
      if (had["ActiveState"] == "failed") print had["Id"], "has failed"
      else if (had["NRestarts"] >= restarts && (had["ActiveState"] != "active" || since < recently))
        print had["Id"], "is restarted again and again, " had["NRestarts"] " times so far"
      else if (had["Id"] in missed && had["ActiveState"] != "active") print had["Id"], "does not run: it is " had["ActiveState"]
      delete missed[had["Id"]]
      delete had
    }
    $0 == "" { tell(); next }
    { had[$1] = $2 }
    END {
      if ("Id" in had) tell()
      for (unit in missed) print unit, "does not run"
    }' |
  while read -r unit said; do
    last=$(journalctl --unit="$unit" --lines=100 --output=cat --no-pager 2>/dev/null |
      grep -v "^$unit: \|^Start\(ed\|ing\) \|^Stop\(ped\|ping\) " | tail -n 1 | cut -c 1-300)
    echo "unhealthy $unit $said${last:+: $last}"
  done
