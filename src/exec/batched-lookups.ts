import { FILE_SCRIPT_PARTS, FILE_SCRIPTS } from "./shell-file-scripts.ts"

/** Runs a script with arguments inside the workspace. When it fails, stderr contains the system's error message. */
export type RunShellScript = (
  script: string,
  args: readonly string[],
  stdin?: Uint8Array,
) => Promise<{ readonly failed: boolean; readonly stdout: Buffer; readonly stderr: string }>

/** The read-only operations. */
export type LookupScript = "stat" | "realPath" | "lookup"

interface LookupResult {
  readonly failed: boolean
  readonly stdout: string
  readonly stderr: string
}

interface Lookup {
  readonly script: LookupScript
  readonly path: string
  readonly deferred: PromiseWithResolvers<LookupResult>
}

/** Keeps a batch well below the maximum length of a command line. */
const MAX_BATCH_LOOKUPS = 100
const MAX_BATCH_BYTES = 60_000

/**
 * Combines lookups that are made in the same tick into one script: the round trip dominates the cost, and a tool that looks up seven
 * names must not start seven processes.
 */
export function createBatchedLookups(
  runScript: RunShellScript,
): (script: LookupScript, path: string) => Promise<LookupResult> {
  let pending: Lookup[] = []
  const send = async (): Promise<void> => {
    const lookups = pending
    pending = []
    for (const batch of inBatches(lookups)) {
      try {
        const result = await runScript(
          LOOKUP_SCRIPT,
          batch.flatMap(({ script, path }) => [script, path]),
        )
        settle(batch, result.stdout.toString("utf8"), result.stderr)
      } catch (error) {
        for (const lookup of batch) lookup.deferred.reject(error)
      }
    }
  }
  return (script, path) => {
    const lookup = { script, path, deferred: Promise.withResolvers<LookupResult>() }
    if (pending.push(lookup) === 1) queueMicrotask(() => void send())
    return lookup.deferred.promise
  }
}

/** The arguments are pairs of operation and path. Each result ends with its exit code between two NULs. */
const LOOKUP_SCRIPT = `${FILE_SCRIPT_PARTS}
while [ $# -gt 0 ]; do
  script=$1 path=$2; shift 2
  (
    set -- "$path"
    case $script in
    stat)
      ${FILE_SCRIPTS.stat} ;;
    lookup)
      ${FILE_SCRIPTS.lookup} ;;
    *)
      ${FILE_SCRIPTS.realPath} ;;
    esac
  )
  printf '\\000%s\\000' "$?"
  printf '\\000' >&2
done`

function settle(batch: readonly Lookup[], stdout: string, stderr: string): void {
  const fields = stdout.split("\0")
  const errors = stderr.split("\0")
  for (const [index, lookup] of batch.entries()) {
    const [output, code] = [fields[2 * index], fields[2 * index + 1]]
    if (output === undefined || code === undefined) {
      lookup.deferred.reject(new Error(`no result for ${lookup.path}: ${stderr.trim().slice(-200)}`))
    } else lookup.deferred.resolve({ failed: code !== "0", stdout: output, stderr: errors[index] ?? "" })
  }
}

function inBatches(lookups: readonly Lookup[]): readonly (readonly Lookup[])[] {
  const batches: Lookup[][] = []
  let bytes = 0
  for (const lookup of lookups) {
    const last = batches.at(-1)
    bytes += Buffer.byteLength(lookup.path)
    if (last === undefined || last.length === MAX_BATCH_LOOKUPS || bytes > MAX_BATCH_BYTES) {
      batches.push([lookup])
      bytes = Buffer.byteLength(lookup.path)
    } else last.push(lookup)
  }
  return batches
}
