/**
 * What the file operations of a container or another machine do over there. They need a POSIX shell and what GNU and BusyBox have in
 * common. `$1` is always an absolute path; a script that cannot do its work ends with 40 and says why in the words of the system.
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

  /** The facts in a line, then the content if it has at most `$2` bytes. A file without a size may be one of the kernel's that never ends. */
  readWithFacts: `facts=$(stat -L -c '%f %s %.3Y' -- "$1" 2>/dev/null) || { stat -L -- "$1" >/dev/null; exit 40; }
size=\${facts#* }; size=\${size%% *}
if [ -f "$1" ] && [ -r "$1" ] && [ "$size" -gt 0 ] && [ "$size" -le "$2" ]; then
  printf '%s content\\n' "$facts"; cat -- "$1" || exit 40
else printf '%s\\n' "$facts"; fi`,

  /** `$2` the first byte, counted from one, `$3` how many. */
  readRange: `regular "$1"; tail -c "+$2" -- "$1" | head -c "$3" || exit 40`,

  /** One part of the input that `commit` will put in place. `$2` is the name of the stage beside the file. */
  append: `target "$1"; cat >>"$directory/$2" || { rm -f -- "$directory/$2"; takeBack; exit 40; }
[ -z "$created" ] || printf created`,

  /**
   * The last part of the input, which has `$3` bytes in all: a link that breaks looks like the end of the input, and a file must not be
   * replaced by half of the new one.
   */
  commit: `target "$1"; stage=$directory/$2
giveUp() { rm -f -- "$stage"; takeBack; exit 40; }
if [ -e "$path" ]; then
  mode=$(stat -c %a -- "$path"); owner=$(stat -c %u:%g -- "$path")
else
  mode= owner=
fi
(umask 077; cat >>"$stage") || giveUp
[ "$(($(wc -c <"$stage")))" = "$3" ] || { echo "the data did not arrive completely" >&2; giveUp; }
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

  /** The facts in a line, empty where there are none, then the real path. */
  look: `stat -L -c '%f %s %.3Y' -- "$1" 2>/dev/null || echo
realPath "$1"`,

  /** A known name in a shared directory may have been taken by somebody else. */
  temporaryDirectory: `place=\${TMPDIR:-/tmp}/hermes-results-$(id -u)
mkdir -m 700 -- "$place" 2>/dev/null
if [ ! -d "$place" ] || [ -L "$place" ] || [ ! -O "$place" ] || [ "$(stat -c %a -- "$place")" != 700 ]; then
  place=$(mktemp -d "$place-XXXXXX") || exit 40
fi
printf %s "$place"`,
} as const

/** What the scripts have in common; goes before each of them. */
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
  there=$path; path=$path$rest
  if [ -d "$path" ]; then fail "Is a directory"; fi
  if [ -e "$path" ] && [ ! -f "$path" ]; then fail "$1 is a pipe, a socket or a device, not a regular file"; fi
  directory=\${path%/*}; [ -n "$directory" ] || directory=/
  created=; [ -d "$directory" ] || created=yes
  mkdir -p -- "$directory" || { takeBack; [ ! -e "$directory" ] || fail "Not a directory"; exit 40; }
}
takeBack() {
  [ -n "$created" ] || return 0
  made=$directory
  while [ "\${#made}" -gt "\${#there}" ] && { [ ! -e "$made" ] || rmdir -- "$made" 2>/dev/null; }; do made=\${made%/*}; done
}
`
