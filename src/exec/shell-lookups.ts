import { FILE_SCRIPT_PARTS, FILE_SCRIPTS } from "./shell-file-scripts.ts"

/** Runs a script with its arguments over there; what it says on stderr when it fails is in the words of the system. */
export type AskShell = (
  script: string,
  args: readonly string[],
  stdin?: Uint8Array,
) => Promise<{ readonly failed: boolean; readonly stdout: Buffer; readonly stderr: string }>

/** The operations that only look. */
export type LookupScript = "stat" | "realPath" | "look"

interface LookupAnswer {
  readonly failed: boolean
  readonly stdout: string
  readonly stderr: string
}

interface Lookup {
  readonly script: LookupScript
  readonly path: string
  readonly settle: PromiseWithResolvers<LookupAnswer>
}

/** Well below what one command line may hold. */
const MOST_AT_ONCE = 100
const MOST_BYTES = 60_000

/**
 * Looks that are asked for at the same moment go out as one script: on the way to another place the way is what takes time, and a
 * tool that looks for seven names must not start seven programs.
 */
export function createLookups(ask: AskShell): (script: LookupScript, path: string) => Promise<LookupAnswer> {
  let waiting: Lookup[] = []
  const send = async (): Promise<void> => {
    const asked = waiting
    waiting = []
    for (const batch of inBatches(asked)) {
      try {
        const answer = await ask(
          LOOKUP_SCRIPT,
          batch.flatMap(({ script, path }) => [script, path]),
        )
        settle(batch, answer.stdout.toString("utf8"), answer.stderr)
      } catch (error) {
        for (const lookup of batch) lookup.settle.reject(error)
      }
    }
  }
  return (script, path) => {
    const lookup = { script, path, settle: Promise.withResolvers<LookupAnswer>() }
    if (waiting.push(lookup) === 1) queueMicrotask(() => void send())
    return lookup.settle.promise
  }
}

/** `$1` and `$2` are the first operation and its path, and so on. Each answer ends with its code between two NULs. */
const LOOKUP_SCRIPT = `${FILE_SCRIPT_PARTS}
while [ $# -gt 0 ]; do
  script=$1 asked=$2; shift 2
  (
    set -- "$asked"
    case $script in
    stat)
      ${FILE_SCRIPTS.stat} ;;
    look)
      ${FILE_SCRIPTS.look} ;;
    *)
      ${FILE_SCRIPTS.realPath} ;;
    esac
  )
  printf '\\000%s\\000' "$?"
  printf '\\000' >&2
done`

function settle(batch: readonly Lookup[], stdout: string, stderr: string): void {
  const said = stdout.split("\0")
  const complaints = stderr.split("\0")
  for (const [index, lookup] of batch.entries()) {
    const [answer, code] = [said[2 * index], said[2 * index + 1]]
    if (answer === undefined || code === undefined) {
      lookup.settle.reject(new Error(`no answer came for ${lookup.path}: ${stderr.trim().slice(-200)}`))
    } else lookup.settle.resolve({ failed: code !== "0", stdout: answer, stderr: complaints[index] ?? "" })
  }
}

function inBatches(lookups: readonly Lookup[]): readonly (readonly Lookup[])[] {
  const batches: Lookup[][] = []
  let bytes = 0
  for (const lookup of lookups) {
    const last = batches.at(-1)
    bytes += Buffer.byteLength(lookup.path)
    if (last === undefined || last.length === MOST_AT_ONCE || bytes > MOST_BYTES) {
      batches.push([lookup])
      bytes = Buffer.byteLength(lookup.path)
    } else last.push(lookup)
  }
  return batches
}
