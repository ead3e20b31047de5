/** Runs a script in the remote workspace and returns its stdout. Rejects when it fails or the workspace cannot be reached. */
export type RunSyncScript = (
  script: string,
  args: readonly string[],
  more: { readonly stdin?: Uint8Array; readonly signal: AbortSignal },
) => Promise<Buffer>

// Scripts that sync files on the remote side. `$1` is always the base directory, the remote `~/.hermes`. A script that fails exits with 40.

const PARTS = `LC_ALL=C; export LC_ALL
fail() { echo "$1" >&2; exit 40; }
umask 077
`

/**
 * Reports what exists. `$2` is the name of this home's manifest, `$3` a file that currently exists in this home, the rest are the synced
 * paths. Prints `same` if the base is this very home, `taken` if it is another Hermes home, else `free`; then the manifest; then the files.
 */
export const INSPECT_SCRIPT = `${PARTS}base=$1 manifest=$2 token=$3; shift 3
if [ -e "$base/cache/remote-sync/$token" ]; then printf 'same\\000\\000'; exit 0; fi
if [ -e "$base/config.yaml" ] || [ -e "$base/state.db" ]; then printf 'taken\\000'; else printf 'free\\000'; fi
cat -- "$base/.sync/$manifest" 2>/dev/null
printf '\\000'
cd -- "$base" 2>/dev/null || exit 0
find -H "$@" -type f -print0 2>/dev/null
exit 0`

/**
 * Receives one part of an archive. `$2` is the name of the manifest, `$3` the staging directory, `$4` is `last` for the last part: then
 * each file is moved into place atomically and the manifest is replaced last.
 */
export const UPLOAD_SCRIPT = `${PARTS}base=$1 stage=$1/.sync/$3
giveUp() { rm -rf -- "$stage"; fail "$1"; }
mkdir -p -- "$stage" && cat >>"$stage/archive" || giveUp "the data cannot be stored"
[ "$4" = last ] || exit 0
command -v tar >/dev/null || giveUp "tar is not installed in the workspace"
cd -- "$stage" && tar -xof archive || giveUp "the archive cannot be unpacked"
[ -f manifest ] && [ -f moves ] && [ -f removed ] || giveUp "the uploaded data is incomplete"
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
  parent=\${path%/*}
  while [ "$parent" != "$path" ] && rmdir -- "$base/$parent" 2>/dev/null; do path=$parent parent=\${parent%/*}; done
done' hermes "$base" <removed
[ ! -e failed ] || giveUp "a file cannot be moved into place"
mv -f -- manifest "$base/.sync/$2" || giveUp "the manifest cannot be written"
rm -rf -- "$stage"`

/** Prints the checksums of the files below the paths `$2`, …; then their sizes. */
export const LIST_SCRIPT = `${PARTS}cd -- "$1" || exit 0
shift
command -v sha256sum >/dev/null || fail "sha256sum is not installed in the workspace"
find -H "$@" -type f -exec sha256sum -- {} + 2>/dev/null
printf '\\036'
find -H "$@" -type f -exec stat -c '%s %n' -- {} + 2>/dev/null
exit 0`

/**
 * Prints one part of an archive of the files `$5`, …: `$3` is its first byte, counted from one, `$4` the number of bytes. Requesting the
 * first part creates the archive in the staging directory `$2`, and the last part removes it. Prints the total size first.
 */
export const DOWNLOAD_SCRIPT = `${PARTS}stage=$1/.sync/$2 start=$3 length=$4
cd -- "$1" || exit 40
shift 4
if [ "$start" = 1 ]; then
  command -v tar >/dev/null || fail "tar is not installed in the workspace"
  mkdir -p -- "$stage" || fail "the staging directory cannot be created"
  for file; do shift; [ -L "$file" ] || [ ! -f "$file" ] || set -- "$@" "$file"; done
  if [ $# -gt 0 ]; then tar -cf "$stage/archive" "$@"; else : >"$stage/archive"; fi || { rm -rf -- "$stage"; exit 40; }
fi
size=$(($(wc -c <"$stage/archive")))
printf '%s\\n' "$size"
tail -c "+$start" "$stage/archive" | head -c "$length"
[ "$((start + length))" -le "$size" ] || rm -rf -- "$stage"`
