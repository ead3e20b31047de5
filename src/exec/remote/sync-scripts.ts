/** Runs a script in the other place. Rejects when it fails or the place cannot be reached. */
export type AskPlace = (
  script: string,
  args: readonly string[],
  more: { readonly stdin?: Uint8Array; readonly signal: AbortSignal },
) => Promise<Buffer>

// What keeping files the same does over there. `$1` is always the base, `~/.hermes` there; a script that fails ends with 40.

const PARTS = `LC_ALL=C; export LC_ALL
fail() { echo "$1" >&2; exit 40; }
umask 077
`

/**
 * What is there: `$2` names the list of what this home has sent, `$3` a file that exists in this home at the moment; the rest are the
 * places. Says whether it is the very same home, somebody else's or nobody's; then the list; then the files.
 */
export const OPEN_SCRIPT = `${PARTS}base=$1 list=$2 token=$3; shift 3
if [ -e "$base/cache/remote-sync/$token" ]; then printf 'same\\000\\000'; exit 0; fi
if [ -e "$base/config.yaml" ] || [ -e "$base/state.db" ]; then printf 'taken\\000'; else printf 'free\\000'; fi
cat -- "$base/.sync/$list" 2>/dev/null
printf '\\000'
cd -- "$base" 2>/dev/null || exit 0
find -H "$@" -type f -print0 2>/dev/null
exit 0`

/**
 * Takes a part of an archive. `$2` is the list as above, `$3` the stage, `$4` whether it is the last part: then everything is put in its
 * place, each file at once, and the list says so last of all.
 */
export const PUSH_SCRIPT = `${PARTS}base=$1 stage=$1/.sync/$3
giveUp() { rm -rf -- "$stage"; fail "$1"; }
mkdir -p -- "$stage" && cat >>"$stage/archive" || giveUp "no room"
[ "$4" = last ] || exit 0
command -v tar >/dev/null || giveUp "tar is missing there"
cd -- "$stage" && tar -xof archive || giveUp "the archive cannot be unpacked"
[ -f list ] && [ -f moves ] && [ -f removed ] || giveUp "the data did not arrive completely"
rm -f archive
xargs -0 -n 20 sh -c 'base=$1; shift
while [ $# -gt 1 ]; do
  case $2 in */*) mkdir -p -- "$base/\${2%/*}" ;; esac
  mv -f -- "files/$1" "$base/$2" || : >failed
  shift 2
done' hermes "$base" <moves
xargs -0 -n 20 sh -c 'base=$1; shift
for path; do
  rm -f -- "$base/$path"
  above=\${path%/*}
  while [ "$above" != "$path" ] && rmdir -- "$base/$above" 2>/dev/null; do path=$above above=\${above%/*}; done
done' hermes "$base" <removed
[ ! -e failed ] || giveUp "a file could not be put in its place"
mv -f -- list "$base/.sync/$2" || giveUp "the list of files could not be kept"
rm -rf -- "$stage"`

/** The checksums of what is below the places `$2`, …; then their sizes. */
export const LIST_SCRIPT = `${PARTS}cd -- "$1" || exit 0
shift
command -v sha256sum >/dev/null || fail "sha256sum is missing there"
find -H "$@" -type f -exec sha256sum -- {} + 2>/dev/null
printf '\\036'
find -H "$@" -type f -exec stat -c '%s %n' -- {} + 2>/dev/null
exit 0`

/**
 * A part of an archive of the files `$5`, …: `$3` is its first byte, counted from one, `$4` how many. The first part makes the archive, in the
 * stage `$2`, and the last removes it. Begins with the size of the whole.
 */
export const PULL_SCRIPT = `${PARTS}stage=$1/.sync/$2 start=$3 length=$4
cd -- "$1" || exit 40
shift 4
if [ "$start" = 1 ]; then
  command -v tar >/dev/null || fail "tar is missing there"
  mkdir -p -- "$stage" || fail "no room"
  for file; do shift; [ -L "$file" ] || [ ! -f "$file" ] || set -- "$@" "$file"; done
  if [ $# -gt 0 ]; then tar -cf "$stage/archive" "$@"; else : >"$stage/archive"; fi || { rm -rf -- "$stage"; exit 40; }
fi
size=$(($(wc -c <"$stage/archive")))
printf '%s\\n' "$size"
tail -c "+$start" "$stage/archive" | head -c "$length"
[ "$((start + length))" -le "$size" ] || rm -rf -- "$stage"`
