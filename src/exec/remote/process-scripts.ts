import { COMMAND_VARIABLE } from "../process-tree.ts"

// Scripts that run commands in a remote workspace. They need a POSIX shell and the options that GNU and BusyBox tools share. Every
// process of a command carries its tag in an environment variable, so that processes which left its session can be killed too.

/**
 * Arguments: `$1` tag, `$2` working directory, `$3` state directory (created if missing), `$4` "nearest" to fall back to the nearest
 * existing ancestor of the working directory, then the command line. Prints stdout and stderr merged, with markers for the start (with
 * process id) and the end of the command. The command gets its own session. Messages of the wrapping shell about the command's death are
 * suppressed. Unread input is drained afterwards, because podman drops all output of a command whose stdin it can no longer write to.
 */
export const RUN_SCRIPT = String.raw`tag=$1 dir=$2 state=$3 fallback=$4; shift 4
[ -d "$state" ] || mkdir -p -m 700 -- "$state"
if [ "$fallback" = nearest ] && [ ! -e "$dir" ]; then
  while [ ! -d "$dir" ]; do dir=\${dir%/*}; [ -n "$dir" ] || dir=/; done
  printf '\036%s moved %s\036' "$tag" "$dir"
fi
cd -- "$dir" 2>/dev/null || {
  if [ -d "$dir" ]; then why=denied; elif [ -e "$dir" ]; then why=not-a-directory; else why=missing; fi
  printf '\036%s %s\036' "$tag" "$why"; exit 0
}
export ${COMMAND_VARIABLE}="$tag"
leader=; command -v setsid >/dev/null 2>&1 && leader=setsid
exec 2>/dev/null
$leader sh -c 'printf "\036%s started %s\036" "$0" "$$"; exec "$@" 2>&1' "$tag" "$@"
printf '\036%s ended %s\036' "$tag" "$?"
cat >/dev/null`.replaceAll("\\$", "$")

/**
 * Arguments: `$1` pattern for the tags of the processes to kill, `$2` their session leader or "". Sends SIGTERM, and SIGKILL after a
 * second. Prints nothing and exits when the processes are gone.
 */
export const KILL_SCRIPT = String.raw`pattern=$1 leader=$2
tagged() {
  for file in $(grep -lz "^${COMMAND_VARIABLE}=$pattern$" /proc/[0-9]*/environ 2>/dev/null); do
    pid=\${file#/proc/}; pid=\${pid%/environ}
    read -r stat <"/proc/$pid/stat" 2>/dev/null || continue
    case \${stat##*) } in Z*) ;; *) printf '%s ' "$pid" ;; esac
  done
}
group=; [ -z "$leader" ] || group=-$leader
for signal in TERM KILL; do
  [ -z "$group" ] || kill -$signal "$group" 2>/dev/null
  pids=$(tagged); [ -z "$pids" ] || kill -$signal $pids 2>/dev/null
  for attempt in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    if [ -z "$(tagged)" ] && { [ -z "$group" ] || ! kill -0 "$group" 2>/dev/null; }; then exit 0; fi
    sleep 0.05 2>/dev/null || sleep 1
  done
done
exit 0`.replaceAll("\\$", "$")

/**
 * Arguments: `$1` tag, `$2` working directory, `$3` base path for the log, process id and exit code files, then the command line. Prints
 * the process id and the line of `/proc/<pid>/stat` ("" without /proc).
 */
export const START_SCRIPT = String.raw`tag=$1 dir=$2 base=$3; shift 3
[ -d "\${base%/*}" ] || mkdir -p -m 700 -- "\${base%/*}"
cd -- "$dir" || exit 40
umask 077
leader=; command -v setsid >/dev/null 2>&1 && leader=setsid
: >"$base.log"
(
  trap '' HUP
  export ${COMMAND_VARIABLE}="$tag"
  exec $leader sh -c 'echo "$$" >"$0.pid"; "$@"; echo "$?" >"$0.code" && mv "$0.code" "$0.exit"' "$base" "$@"
) </dev/null >"$base.log" 2>&1 &
attempt=0
while [ ! -s "$base.pid" ]; do
  attempt=$((attempt + 1)); [ $attempt -lt 100 ] || { echo "the command did not start" >&2; exit 40; }
  sleep 0.02 2>/dev/null || sleep 1
done
read -r pid <"$base.pid"
read -r stat <"/proc/$pid/stat" 2>/dev/null || stat=
printf '%s\n%s' "$pid" "$stat"`.replaceAll("\\$", "$")

/**
 * Arguments: `$1` base path as for `START_SCRIPT`, `$2` number of log bytes already read, `$3` maximum number of bytes to print. Prints a
 * line with the length of the log, the offset of the printed part, and the exit code, `running` or `lost`; then that part.
 */
export const POLL_SCRIPT = String.raw`base=$1 known=$2 maximum=$3
if [ -s "$base.exit" ]; then read -r state <"$base.exit"
else
  read -r pid <"$base.pid" 2>/dev/null
  if [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; then state=running
  elif [ -s "$base.exit" ]; then read -r state <"$base.exit"
  else state=lost; fi
fi
[ -f "$base.log" ] || { printf '%s %s lost\n' "$known" "$known"; exit 0; }
length=$(wc -c <"$base.log"); length=$((length))
[ $((length - known)) -le "$maximum" ] || known=$((length - maximum))
printf '%s %s %s\n' "$length" "$known" "$state"
[ "$length" -le "$known" ] || tail -c "+$((known + 1))" "$base.log" | head -c "$((length - known))"
exit 0`.replaceAll("\\$", "$")
