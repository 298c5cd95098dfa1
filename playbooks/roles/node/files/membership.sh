#!/bin/sh
# Whether this machine is a node of the cluster. Arguments: its certificate, the file it joins with, the URL of the API, and how long
# the API may take to be reached, seconds. Prints "joined", "stranger" (its certificate is of a cluster that is gone, or has ended) or
# "new", and "join_file" when that file is still there.
certificate=$1 join=$2 api=$3 end=$(($(date +%s) + $4))
if [ -e "$join" ]; then echo join_file; fi
if [ ! -e "$certificate" ]; then
  echo new
  exit 0
fi
# One that has ended opens nothing, not even its own renewal, and the kubelet would not ask for another while it is there.
if ! openssl x509 -noout -checkend 0 -in "$certificate" >/dev/null 2>&1; then
  echo stranger
  exit 0
fi
while :; do
  # Not whether the API is who it says, which nothing here hangs on: the authority of a cluster that is gone knows no other.
  answer=$(curl --silent --insecure --max-time 5 --output /dev/null --write-out '%{http_code}' --cert "$certificate" "$api/api")
  case $answer in
    401) echo stranger && exit 0 ;;
    000) ;;
    *) echo joined && exit 0 ;;
  esac
  if [ "$(date +%s)" -ge "$end" ]; then break; fi
  sleep 1
done
# It cannot be asked; what has a certificate is taken for a node.
echo joined
