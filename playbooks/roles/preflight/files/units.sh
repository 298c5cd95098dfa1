#!/bin/sh
# Checks the services of a gateway or a node, and changes nothing. Prints a line "unhealthy ..." for each one that has failed, is restarted
# again and again, or must run and does not: the arguments, and on a machine that was set up as a node or a gateway what runs on such.
# A line has the unit's state and result as systemd reports them, and the last lines that the service itself wrote before it failed. The exit
# code is not 0 when systemd cannot be asked.
# Number of restarts that are too many, and largest age of the last in seconds. A kubelet that waits for the control plane restarts less often.
restarts=3 recently=60
enabled() { systemctl is-enabled --quiet "$1" 2>/dev/null; }
enabled longhaul-node.target && set -- "$@" containerd.service kubelet.service
enabled longhaul-gateway-firewall.service && set -- "$@" longhaul-gateway-firewall.service strongswan.service
properties=Id,LoadState,ActiveState,SubState,Result,ExecMainStatus,NRestarts,ActiveEnterTimestampMonotonic,InvocationID
# shellcheck disable=SC2046 # each unit is a word
shown=$(systemctl show --property=$properties -- $({
  systemctl list-units --all --plain --no-legend --type=service 'longhaul-*' 2>/dev/null | awk '{ print $1 }'
  printf '%s\n' strongswan.service containerd.service kubelet.service kube-proxy.service "$@"
} | sort -u)) || exit
# Prints for each such unit its name, the invocation whose lines show the cause, and the sentence. "-": no lines. "all": the unit's last lines,
# since a service that is restarted again and again may have written nothing yet this time.
echo "$shown" |
  awk -F= -v restarts=$restarts -v recently=$recently -v now="$(cut -d. -f1 /proc/uptime)" -v needed="$*" '
    BEGIN { split(needed, units, " "); for (i in units) missed[units[i]] = 1 }
    function state(text) {
      text = " (" value["ActiveState"] " (" value["SubState"] "), Result=" value["Result"]
      if (value["Result"] != "success" && value["ExecMainStatus"] + 0) text = text ", ExecMainStatus=" value["ExecMainStatus"]
      return text ")"
    }
    function report(invocation) {
      since = now - value["ActiveEnterTimestampMonotonic"] / 1000000
      invocation = value["InvocationID"] == "" ? "-" : value["InvocationID"]
      if (value["ActiveState"] == "failed") print value["Id"], invocation, "has failed" state()
      else if (value["NRestarts"] >= restarts && (value["ActiveState"] != "active" || since < recently))
        print value["Id"], "all", "is restarted again and again, " value["NRestarts"] " times so far" state()
      else if (value["Id"] in missed && value["LoadState"] == "not-found") print value["Id"], "-", "is not installed"
      else if (value["Id"] in missed && (value["SubState"] == "auto-restart" || value["ActiveState"] !~ /^(active|reloading|activating)$/))
        print value["Id"], (value["Result"] == "success" ? "-" : invocation), "does not run" state()
      delete missed[value["Id"]]
      delete value
    }
    $0 == "" { report(); next }
    { value[$1] = $2 }
    END {
      if ("Id" in value) report()
      for (unit in missed) print unit, "-", "is not known to systemd"
    }' |
  while read -r unit invocation sentence; do
    # Lines of the service: systemd's own about a unit have neither of these fields (systemd.journal-fields(7)).
    case $invocation in
      -) lines='' ;;
      all) lines=$(journalctl "_SYSTEMD_UNIT=$unit" --lines=2 --output=cat --no-pager 2>/dev/null) ;;
      *) lines=$(journalctl "_SYSTEMD_INVOCATION_ID=$invocation" --lines=2 --output=cat --no-pager 2>/dev/null) ;;
    esac
    last=$(echo "$lines" | awk 'NR > 1 { printf " | " } { printf "%s", $0 }' | cut -c 1-400)
    echo "unhealthy $unit $sentence${last:+: $last}"
  done
