/**
 * Shell scripts for file operations inside a container or on another machine. They need a POSIX shell and the options that GNU and
 * BusyBox tools share. `$1` is always an absolute path. A script that fails exits with 40 and prints the system's error message.
 */
export type FileScript = keyof typeof FILE_SCRIPTS

export const FILE_SCRIPTS = {
  stat: `stat -L -c '%f %s %.3Y' -- "$1" && exit 0
[ -e "$1" ] && exit 40
case $(LC_ALL=C stat -L -c %f -- "$1" 2>&1) in
  *"No such file"*|*"Not a directory"*) exit 0 ;;
esac
exit 40`,

  read: `regular "$1"; cat -- "$1" || exit 40`,

  /** Prints a line of facts, then the content of at most `$2` bytes. A file of size 0 may be an endless kernel file, so it is not read. */
  readWithFacts: `facts=$(stat -L -c '%f %s %.3Y' -- "$1" 2>/dev/null) || { stat -L -- "$1" >/dev/null; exit 40; }
size=\${facts#* }; size=\${size%% *}
if [ -f "$1" ] && [ -r "$1" ] && [ "$size" -gt 0 ] && [ "$size" -le "$2" ]; then
  printf '%s content\\n' "$facts"; cat -- "$1" || exit 40
else printf '%s\\n' "$facts"; fi`,

  /** `$2` is the first byte, counted from one, `$3` the number of bytes. */
  readRange: `regular "$1"; tail -c "+$2" -- "$1" | head -c "$3" || exit 40`,

  /** Appends a part of the input to the staging file `$2` next to the target, which `commit` moves into place. */
  append: `target "$1"; cat >>"$directory/$2" || { rm -f -- "$directory/$2"; removeCreated; exit 40; }
[ -z "$created" ] || printf created`,

  /**
   * Appends the last part of the input and replaces the target, if all `$3` bytes have arrived: a broken connection looks like the end of
   * the input, and an incomplete file must not replace the old one.
   */
  commit: `target "$1"; stage=$directory/$2
giveUp() { rm -f -- "$stage"; removeCreated; exit 40; }
if [ -e "$path" ]; then
  mode=$(stat -c %a -- "$path"); owner=$(stat -c %u:%g -- "$path")
else
  mode= owner=
fi
(umask 077; cat >>"$stage") || giveUp
[ "$(($(wc -c <"$stage")))" = "$3" ] || { echo "the data is incomplete" >&2; giveUp; }
if [ -n "$mode" ]; then
  chown "$owner" "$stage" 2>/dev/null
  chmod "$mode" "$stage" || giveUp
else
  chmod "$(printf %o "$((0666 & ~$(umask)))")" "$stage" || giveUp
fi
mv -f -- "$stage" "$path" || giveUp
stat -L -c '%f %s %.3Y' -- "$path" 2>/dev/null || echo
[ -z "$created" ] || printf created`,

  list: `[ -d "$1" ] || { stat -L -- "$1" >/dev/null || exit 40; fail "Not a directory"; }
cd -- "$1" 2>/dev/null && [ -r . ] || fail "Permission denied"
for name in * .[!.]* ..?*; do
  if [ -L "$name" ]; then kind=o
  elif [ -d "$name" ]; then kind=d
  elif [ -f "$name" ]; then kind=f
  elif [ -e "$name" ]; then kind=o
  else continue; fi
  printf '%s%s\\0' "$kind" "$name"
done
exit 0`,

  remove: `if [ -d "$1" ] && [ ! -L "$1" ]; then fail "Is a directory"; fi
[ -e "$1" ] || [ -L "$1" ] || fail "No such file or directory"
rm -f -- "$1" || exit 40`,

  rename: `[ -e "$1" ] || [ -L "$1" ] || fail "No such file or directory"
if [ -d "$1" ] && [ ! -L "$1" ]; then fail "Is a directory"; fi
if [ -e "$2" ] || [ -L "$2" ]; then fail "File exists"; fi
case $2 in */*/*|/*/*) mkdir -p -- "\${2%/*}" || exit 40 ;; esac
ln -- "$1" "$2" || exit 40
rm -f -- "$1" || exit 40`,

  realPath: `realPath "$1"`,

  /** Prints a line of facts, empty when there are none, then the real path. */
  lookup: `stat -L -c '%f %s %.3Y' -- "$1" 2>/dev/null || echo
realPath "$1"`,

  /** Another user may have created the predictable name in the shared directory; then a random one is used. */
  temporaryDirectory: `directory=\${TMPDIR:-/tmp}/hermes-results-$(id -u)
mkdir -m 700 -- "$directory" 2>/dev/null
if [ ! -d "$directory" ] || [ -L "$directory" ] || [ ! -O "$directory" ] || [ "$(stat -c %a -- "$directory")" != 700 ]; then
  directory=$(mktemp -d "$directory-XXXXXX") || exit 40
fi
printf %s "$directory"`,
} as const

/** Functions that the scripts share. Prepend them to each script. */
export const FILE_SCRIPT_PARTS = `LC_ALL=C; export LC_ALL
fail() { echo "$1" >&2; exit 40; }
regular() {
  if [ -d "$1" ]; then fail "Is a directory"; fi
  [ -e "$1" ] || { stat -L -- "$1" >/dev/null || exit 40; }
  [ -f "$1" ] || fail "$1 is a pipe, a socket or a device, not a regular file"
}
follow() {
  links=0
  while [ ! -e "$path" ]; do
    if [ -L "$path" ]; then
      links=$((links + 1)); [ $links -le 40 ] || fail "Too many levels of symbolic links"
      target=$(readlink -n -- "$path"; printf x); target=\${target%x}
      case $target in /*) path=$target ;; *) path=\${path%/*}/$target ;; esac
    else
      rest=/\${path##*/}$rest; path=\${path%/*}; [ -n "$path" ] || path=/
    fi
  done
}
realPath() {
  path=$1 rest=; follow
  found=$(readlink -f -- "$path" && printf x) || exit 40
  found=\${found%?x}
  [ "$found" != / ] || [ -z "$rest" ] || found=
  printf '%s%s' "$found" "$rest"
}
target() {
  path=$1 rest=; follow
  path=$(readlink -f -- "$path" && printf x) || exit 40
  path=\${path%?x}
  [ "$path" != / ] || path=
  existing=$path; path=$path$rest
  if [ -d "$path" ]; then fail "Is a directory"; fi
  if [ -e "$path" ] && [ ! -f "$path" ]; then fail "$1 is a pipe, a socket or a device, not a regular file"; fi
  directory=\${path%/*}; [ -n "$directory" ] || directory=/
  created=; [ -d "$directory" ] || created=yes
  mkdir -p -- "$directory" || { removeCreated; [ ! -e "$directory" ] || fail "Not a directory"; exit 40; }
}
removeCreated() {
  [ -n "$created" ] || return 0
  made=$directory
  while [ "\${#made}" -gt "\${#existing}" ] && { [ ! -e "$made" ] || rmdir -- "$made" 2>/dev/null; }; do made=\${made%/*}; done
}
`
