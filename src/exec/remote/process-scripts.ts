import { COMMAND_VARIABLE } from "../process-tree.ts"

/**
 * The scripts around commands in another place. They need a POSIX shell and what GNU and BusyBox have in common. Every process of a
 * command carries its tag in a variable, so that also those that left its session are found when it must end.
 */

/**
 * `$1` tag, `$2` directory, `$3` a directory that must exist, `$4` "nearest" when the nearest directory above will do, then the command
 * line. Output and errors come in one stream, in order, with marks of when the command began (and its process id) and ended. The command
 * has a session of its own. What the shell around it says of its end is left out, as no other shell would say it. Input that
 * the command did not read is read after it: podman gives up the output of a command that it cannot write to any more.
 */
export const RUN_SCRIPT = String.raw`tag=$1 dir=$2 state=$3 how=$4; shift 4
[ -d "$state" ] || mkdir -p -m 700 -- "$state"
if [ "$how" = nearest ] && [ ! -e "$dir" ]; then
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
 * `$1` is a pattern for the tags of the processes to end, `$2` the leader of their session or "". They get a second to leave.
 * Says nothing; it has done its work when it ends.
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
  for turn in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    if [ -z "$(tagged)" ] && { [ -z "$group" ] || ! kill -0 "$group" 2>/dev/null; }; then exit 0; fi
    sleep 0.05 2>/dev/null || sleep 1
  done
done
exit 0`.replaceAll("\\$", "$")

/**
 * `$1` tag, `$2` directory, `$3` the path that log, process id and exit code are kept at, then the command line. Prints the process
 * id and its start time in clock ticks ("" where there is no /proc).
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
turn=0
while [ ! -s "$base.pid" ]; do
  turn=$((turn + 1)); [ $turn -lt 100 ] || { echo "the command did not start" >&2; exit 40; }
  sleep 0.02 2>/dev/null || sleep 1
done
read -r pid <"$base.pid"
read -r stat <"/proc/$pid/stat" 2>/dev/null || stat=
printf '%s\n%s' "$pid" "$stat"`.replaceAll("\\$", "$")

/**
 * `$1` the path of `START_SCRIPT`, `$2` how much of the log is known, `$3` how much of it may be given at once. Prints the length of the
 * log, where the printed part begins, and the exit code, `running` or `lost`; then that part.
 */
export const POLL_SCRIPT = String.raw`base=$1 known=$2 most=$3
if [ -s "$base.exit" ]; then read -r state <"$base.exit"
else
  read -r pid <"$base.pid" 2>/dev/null
  if [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; then state=running
  elif [ -s "$base.exit" ]; then read -r state <"$base.exit"
  else state=lost; fi
fi
[ -f "$base.log" ] || { printf '%s %s lost\n' "$known" "$known"; exit 0; }
length=$(wc -c <"$base.log"); length=$((length))
[ $((length - known)) -le "$most" ] || known=$((length - most))
printf '%s %s %s\n' "$length" "$known" "$state"
[ "$length" -le "$known" ] || tail -c "+$((known + 1))" "$base.log" | head -c "$((length - known))"
exit 0`.replaceAll("\\$", "$")
