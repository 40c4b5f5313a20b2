#!/bin/sh
# The nightly backup of a file server, for cron:
#
#   0 2 * * * FOLDER=/srv/ofis SOURCE=ofis LOG=/var/log/emanet.log /opt/emanet/file-server.sh
#
# EMANET is the command of the agent. One line in the log for each night; the exit code is the agent's (docs/AGENT.md): 0 all is stored, 3 some files
# could not be read, anything else: look at the log.
set -u
: "${FOLDER:?}" "${SOURCE:?}" "${LOG:?}"
answer=$(${EMANET:-emanet} backup "$FOLDER" --source "$SOURCE" --trigger schedule --exclude-caches --exclude '*.tmp' --quiet --json 2>>"$LOG")
code=$?
printf '%s exit %s %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$code" "$(printf '%s\n' "$answer" | tail -n 1)" >>"$LOG"
exit "$code"
