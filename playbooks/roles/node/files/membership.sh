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
# One that has ended opens nothing, not even its own renewal, and the kubelet would not ask for another while it is there.
if ! openssl x509 -noout -checkend 0 -in "$certificate" >/dev/null 2>&1; then
  echo stranger
  exit 0
fi
ready='import json, sys
conditions = {one["type"]: one["status"] for one in json.load(sys.stdin)["status"]["conditions"]}
sys.exit(conditions.get("Ready") != "True")'
while :; do
  # Kubelets are restarted, and made to forget their cluster, by what is answered: only the API that the authority knows is believed, and
  # nobody where that file is not there yet. The API lets a node read its own Node, whether there is one or not.
  if [ ! -e "$authority" ]; then break; fi
  answer=$(curl --silent --cacert "$authority" --max-time 5 --write-out '\n%{http_code}' --cert "$certificate" "$api/api/v1/nodes/$name")
  case $(echo "$answer" | tail -n 1) in
    401) echo stranger && exit 0 ;;
    404) echo absent && break ;;
    200) if echo "$answer" | sed '$d' | python3 -c "$ready" 2>/dev/null; then echo ready; fi && break ;;
    000) ;;
    *) break ;;
  esac
  # Where it cannot be asked, what has a certificate is taken for a node.
  if [ "$(date +%s)" -ge "$end" ]; then break; fi
  sleep 1
done
echo joined
