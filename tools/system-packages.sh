#!/usr/bin/env bash
# Installs the programs that tests drive and that npm does not bring: a browser for /docs, curl, wget, aria2 and openssl to speak to
# the service from outside, a shared store for limits, Debian's PostgreSQL as the second database that the suite runs on,
# PHP for a receiver of webhooks, Python for the fuzzer, for archives and (with its cryptography) for receipts, and for archives also bsdtar, Info-ZIP, 7-Zip and a JDK (its jar tool and compiler).
# Does nothing when all are there. Debian and Ubuntu, as root or with a sudo that asks nothing.
set -euo pipefail

# A mirror that is down or another apt on the machine usually recovers within these; more would hide a real fault.
readonly attempts=4
readonly pause_s=15
readonly attempt_limit_s=600
readonly lock_wait_s=120

main() {
  local missing=()
  have chromium-headless-shell || have chromium || missing+=("$browser")
  have bsdtar || missing+=(libarchive-tools)
  have curl || missing+=(curl)
  have wget || missing+=(wget)
  have aria2c || missing+=(aria2)
  have openssl || missing+=(openssl)
  have zip || missing+=(zip)
  have unzip || missing+=(unzip)
  have 7z || have 7zz || have 7za || missing+=(7zip)
  have javac || missing+=(default-jdk-headless)
  have php || missing+=(php-cli)
  have redis-server || have valkey-server || missing+=(redis-server)
  python3 -c "import ensurepip, venv" 2>/dev/null || missing+=(python3-venv)
  python3 -c "import cryptography" 2>/dev/null || missing+=(python3-cryptography)
  compgen -G "/usr/lib/postgresql/*/bin/postgres" >/dev/null || missing+=(postgresql)
  if [ ${#missing[@]} -eq 0 ]; then
    echo "system packages: all present"
    return
  fi
  have apt-get || fail "missing: ${missing[*]}. Install them with this system's package manager; only apt-get is known here"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    have sudo && sudo -n true 2>/dev/null || fail "missing: ${missing[*]}. Run as root: apt-get install -y ${missing[*]}"
    as_root=(sudo -n)
  fi
  echo "system packages: installing ${missing[*]}"
  retry "${as_root[@]}" apt-get "${options[@]}" update
  apt-cache show "$browser" >/dev/null 2>&1 || missing=("${missing[@]/#$browser/chromium}")
  retry "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" install --yes --no-install-recommends "${missing[@]}"
}

# It is smaller than chromium and needs less CPU time. Releases that do not have it have chromium.
readonly browser=chromium-headless-shell

readonly options=(-qq -o "DPkg::Lock::Timeout=$lock_wait_s" -o Acquire::Retries=3 -o Dpkg::Use-Pty=0)

have() {
  command -v "$1" >/dev/null
}

# The output of an attempt is shown only when all of them failed.
retry() {
  local log attempt
  log=$(mktemp)
  for ((attempt = 1; attempt <= attempts; attempt++)); do
    if timeout --kill-after=10 "$attempt_limit_s" "$@" </dev/null >"$log" 2>&1; then
      rm -f "$log"
      return
    fi
    echo "system packages: attempt $attempt of $attempts failed: ${*: -3}" >&2
    [ "$attempt" -eq "$attempts" ] || sleep "$pause_s"
  done
  cat "$log" >&2
  rm -f "$log"
  fail "apt-get failed $attempts times; its last output is above"
}

fail() {
  echo "system packages: $1" >&2
  exit 1
}

main
