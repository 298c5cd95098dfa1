#!/bin/sh
# Prints SHA-256, mode, owner and path of each of the files named as arguments that is there.
for path; do
  if [ -f "$path" ]; then
    sum=$(sha256sum <"$path")
    echo "${sum%% *} $(stat --format='%a %U:%G %n' "$path")"
  fi
done
