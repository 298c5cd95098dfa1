# A timer that was masked while it waited still fires. systemd must read the masks after it stopped the units: a timer that waits
# for a service that is gone fails. Arguments: units, of which not every system has each.
systemctl stop "$@" 2>/dev/null
systemctl daemon-reload
