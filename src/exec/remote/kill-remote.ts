import { KILL_SCRIPT } from "./process-scripts.ts"
import { runScript } from "./transport.ts"
import type { Transport } from "./transport.ts"

/** Kills the processes of one remote command. Resolves to false when the workspace cannot be reached. */
export async function killRemoteCommand(
  transport: Transport,
  command: { readonly tag: string; readonly pid?: number | undefined },
): Promise<boolean> {
  return await kill(transport, command.tag.replaceAll(".", String.raw`\.`), command.pid)
}

/** Kills all processes whose tag begins with the prefix and a dot. */
export async function killAllRemoteCommands(transport: Transport, prefix: string): Promise<boolean> {
  return await kill(transport, allPattern(prefix), undefined)
}

/** The arguments of `KILL_SCRIPT` that kill all commands, for a process that cannot wait for the result. */
export function killAllArguments(prefix: string): readonly string[] {
  return [allPattern(prefix), ""]
}

const KILL_TIMEOUT_MS = 10_000

function allPattern(prefix: string): string {
  return String.raw`${prefix}\..*`
}

async function kill(transport: Transport, pattern: string, pid: number | undefined): Promise<boolean> {
  const result = await runScript(
    transport,
    { script: KILL_SCRIPT, args: [pattern, pid === undefined ? "" : String(pid)] },
    { signal: new AbortController().signal, timeoutMs: KILL_TIMEOUT_MS },
  )
  return result.kind === "completed"
}
