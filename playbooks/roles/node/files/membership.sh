#!/bin/sh
# Whether this machine is a node of the cluster. Arguments: its certificate, the file it joins with, the URL of the API, how long the API
# may take to be reached, seconds, the name of its Node, and the file of the cluster's authority. Prints "joined", "stranger" (its
# certificate is of a cluster that is gone, or has ended) or "new"; then "ready" if its Node is, "absent" if there is none; and "join_file"
# when that file is still there.
certificate=$1 join=$2 api=$3 end=$(($(date +%s) + $4)) name=$5 authority=$6
if [ -e "$join" ]; then echo join_file; fi
if [ ! -e "$certificate" ]; then
  echo new
  exit 0
fi
# An expired certificate opens nothing, not even its own renewal, and the kubelet would not request another while it exists.
if ! openssl x509 -noout -checkend 0 -in "$certificate" >/dev/null 2>&1; then
  echo stranger
  exit 0
fi
ready='import json, sys
conditions = {one["type"]: one["status"] for one in json.load(sys.stdin)["status"]["conditions"]}
sys.exit(conditions.get("Ready") != "True")'
while :; do
  # The answer decides whether kubelets are restarted and forget their cluster: only an API with the authority's certificate is trusted, and
  # none while that file is missing. The API lets a node read its own Node, whether it exists or not.
  if [ ! -e "$authority" ]; then break; fi
  answer=$(curl --silent --cacert "$authority" --max-time 5 --write-out '\n%{http_code}' --cert "$certificate" "$api/api/v1/nodes/$name")
  case $(echo "$answer" | tail -n 1) in
    401) echo stranger && exit 0 ;;
    404) echo absent && break ;;
    200) if echo "$answer" | sed '$d' | python3 -c "$ready" 2>/dev/null; then echo ready; fi && break ;;
    000) ;;
    *) break ;;
  esac
  # When it cannot be asked, a machine with a certificate counts as a node.
  if [ "$(date +%s)" -ge "$end" ]; then break; fi
  sleep 1
done
echo joined
