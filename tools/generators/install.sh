#!/usr/bin/env bash
# Installs the generators into .cache, once per list of versions, and prints their folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# A mirror that is slow is given this long; one that is down is not waited for.
readonly limit_s=300

lists=(tools/generators/requirements.txt tools/generators/package.json tools/generators/package-lock.json)
folder=.cache/generators-$(cat "${lists[@]}" | sha256sum | cut -c1-12)
if [ ! -e "$folder/ready" ]; then
  rm -rf "$folder"
  mkdir -p "$folder"
  timeout "$limit_s" python3 -m venv "$folder/python" >&2
  timeout "$limit_s" "$folder/python/bin/pip" install --quiet --disable-pip-version-check --no-deps \
    -r tools/generators/requirements.txt >&2
  cp tools/generators/package.json tools/generators/package-lock.json "$folder"
  (cd "$folder" && timeout "$limit_s" npm ci --ignore-scripts --no-audit --no-fund --no-progress --loglevel=error >&2)
  touch "$folder/ready"
fi
echo "$PWD/$folder"
