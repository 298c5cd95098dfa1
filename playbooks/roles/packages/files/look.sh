# Prints the installed packages, one fact a line. Arguments: names of packages.
(. /etc/os-release && echo "suite $VERSION_CODENAME")
cat /etc/apt/sources.list.d/longhaul-depot.list 2>/dev/null
sha256sum /etc/apt/keyrings/longhaul-depot.asc 2>/dev/null | sed 's/^\([0-9a-f]*\) .*/keyring \1/'
[ $# -eq 0 ] || dpkg-query --show --showformat='installed ${Package} ${db:Status-Status}\n' "$@" 2>/dev/null
# A killed dpkg leaves its journal; apt recognises it, too, and then refuses everything.
for file in /var/lib/dpkg/updates/[0-9]*; do
  [ ! -e "$file" ] || { echo interrupted; break; }
done
dpkg-query --show --showformat='unfinished ${Package} ${db:Status-Status}\n' 2>/dev/null |
  grep -E ' (unpacked|half-configured|triggers-awaited|triggers-pending)$'
true
