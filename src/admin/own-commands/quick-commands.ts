import { isRecord } from "../../base/json.ts"
import { ellipsize } from "../../base/text.ts"
import type { Config } from "../../config/load-config.ts"
import { runProgram } from "../../exec/run-program.ts"

/** A slash command of the settings. */
export type QuickCommand =
  | { readonly name: string; readonly kind: "exec"; readonly command: string }
  | { readonly name: string; readonly kind: "alias"; readonly target: string }
  | { readonly name: string; readonly kind: "invalid"; readonly problem: string }

export function listQuickCommands(config: Pick<Config, "get">): readonly QuickCommand[] {
  return Object.entries(config.get("quick_commands")).map(([written, value]): QuickCommand => {
    const name = written.trim().replace(/^\//u, "").toLowerCase()
    const field = (key: string): string => {
      const found = isRecord(value) ? value[key] : undefined
      return typeof found === "string" ? found.trim() : ""
    }
    if (field("type") === "exec" && field("command") !== "") return { name, kind: "exec", command: field("command") }
    if (field("type") === "alias" && field("target") !== "") return { name, kind: "alias", target: field("target") }
    const problem = `quick_commands.${written} needs a type: exec with a command, or alias with a target`
    return { name, kind: "invalid", problem }
  })
}

const LIMIT_MS = 30_000
const MAX_SHOWN_CHARS = 20_000

/** Runs the command line of a quick command in a shell. Returns its output, or what went wrong. */
export async function runQuickCommand(
  { name, command }: { readonly name: string; readonly command: string },
  options: {
    readonly words: readonly string[]
    readonly cwd: string
    readonly environment: Readonly<Record<string, string>>
    readonly signal: AbortSignal
  },
): Promise<string> {
  const { words, cwd, environment, signal } = options
  // The words are arguments of the script, never part of it.
  const result = await runProgram(["/bin/sh", "-c", command, name, ...words], {
    environment,
    cwd,
    signal,
    timeoutMs: LIMIT_MS,
  })
  if (result.ended === "timed-out") return `/${name} was stopped: it did not end within ${LIMIT_MS / 1000} seconds.`
  if (result.ended === "interrupted") return `/${name} was stopped.`
  if (result.notStarted !== undefined) return `/${name} could not be started: ${result.notStarted}.`
  const output = result.stdout.toString("utf8").trimEnd()
  const text = output === "" ? result.stderr.trimEnd() : output
  const shown = ellipsize(text, MAX_SHOWN_CHARS)
  if (result.code === 0) return shown === "" ? `/${name} printed nothing.` : shown
  return `${shown}${shown === "" ? "" : "\n"}/${name} exited with code ${result.code}.`
}
