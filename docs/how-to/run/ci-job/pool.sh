#!/usr/bin/env bash
# Opens and closes a pool of a GPU lab by events, with the AWS command line alone.
#   pool.sh open     puts the request, and prints the id of its event
#   pool.sh await ID waits until the GPUs are proven; fails if the lab says that they will not be
#   pool.sh close    ends the lease of the same token, or of an open that is still on its way
# LAB, SOURCE, POOL and TOKEN are in the environment; FOR_SECONDS and WAIT_SECONDS may be.
set -euo pipefail

put() { # DETAIL-TYPE DETAIL
  local detail=${2//\"/\\\"} id
  id=$(aws events put-events --query 'Entries[0].EventId' --output text --entries \
    "[{\"EventBusName\": \"$LAB\", \"Source\": \"$SOURCE\", \"DetailType\": \"$1\", \"Detail\": \"$detail\"}]")
  if [[ $id == None ]]; then
    echo "EventBridge did not take the event: does events.allow of $LAB let this role in for $SOURCE?" >&2
    return 1
  fi
  echo "$id"
}

told() { # FUNCTION ID DETAIL-TYPE…: the lines of these events in reply to the event
  local function=$1 id=$2 types
  shift 2
  types=$(printf ' || $.detail_type = "%s"' "$@")
  aws logs filter-log-events --log-group-name "/aws/lambda/$LAB-$function" --start-time "$since" \
    --filter-pattern "{ \$.message = \"event told\" && \$.detail.in_reply_to = \"$id\" && (${types# || }) }" \
    --query 'events[].[message]' --output text
}

await() { # ID
  local deadline=$((SECONDS + ${WAIT_SECONDS:-3600})) answer
  since=$((($(date +%s) - 900) * 1000))
  while ((SECONDS < deadline)); do
    if [[ -n $(told lifecycle "$1" pool-open) ]]; then
      echo "the GPUs of $POOL are proven"
      return
    fi
    answer=$(told lifecycle "$1" lease-refused pool-degraded pool-closing pool-closed; told events "$1" lease-refused)
    if [[ -n $answer ]]; then
      echo "$answer" >&2
      return 1
    fi
    sleep "${POLL_SECONDS:-10}"
  done
  echo "the lab did not open $POOL in time" >&2
  return 1
}

case ${1:-} in
  open) put open "{\"pool\": \"$POOL\", \"for_seconds\": ${FOR_SECONDS:-10800}, \"token\": \"$TOKEN\"}" ;;
  await) await "$2" ;;
  close) put close "{\"pool\": \"$POOL\", \"token\": \"$TOKEN\"}" ;;
  *) sed -n '2,6s/^# //p' "$0" >&2 && exit 2 ;;
esac
