import { KILL_SCRIPT } from "./process-scripts.ts"
import { askScript } from "./transport.ts"
import type { Transport } from "./transport.ts"

/** Ends the processes of one command over there. False when the place could not be reached. */
export async function endRemotely(
  transport: Transport,
  command: { readonly tag: string; readonly pid?: number | undefined },
): Promise<boolean> {
  return await kill(transport, command.tag.replaceAll(".", String.raw`\.`), command.pid)
}

/** Ends whatever carries a tag that begins with the prefix and a dot. */
export async function endAllRemotely(transport: Transport, prefix: string): Promise<boolean> {
  return await kill(transport, allPattern(prefix), undefined)
}

/** The arguments of `KILL_SCRIPT` for a process that cannot wait for an answer. */
export function endAllArguments(prefix: string): readonly string[] {
  return [allPattern(prefix), ""]
}

const END_WITHIN_MS = 10_000

function allPattern(prefix: string): string {
  return String.raw`${prefix}\..*`
}

async function kill(transport: Transport, pattern: string, pid: number | undefined): Promise<boolean> {
  const answer = await askScript(
    transport,
    { script: KILL_SCRIPT, args: [pattern, pid === undefined ? "" : String(pid)] },
    { signal: new AbortController().signal, timeoutMs: END_WITHIN_MS },
  )
  return answer.kind === "answered"
}
