import { stripAnsi } from "../../base/strip-ansi.ts"
import type { ProcessEnd, ProcessView } from "./process-view.ts"
import type { WatchEvent } from "./watch-patterns.ts"

const OUTPUT_CHARS = 2000
const COMMAND_CHARS = 500

type Named = Pick<ProcessView, "id" | "command">

export function completionNotice(process: ProcessView, end: ProcessEnd): string {
  const output = tail(stripAnsi(process.output).trimEnd())
  const how =
    end.reason === "lost"
      ? "completed or was lost while Hermes was not running; its exit code is unknown"
      : end.reason === "killed"
        ? "completed: it was killed"
        : `completed with exit code ${end.exitCode}`
  return `[IMPORTANT: Background process ${process.id} ${how}.\n${commandLine(process)}${output === "" ? "" : `\nOutput:\n${output}`}]`
}

export function matchNotice(process: Named, event: Extract<WatchEvent, { readonly kind: "match" }>): string {
  const more = event.suppressed === 0 ? "" : `\n(${event.suppressed} earlier matching lines were not reported.)`
  return `[IMPORTANT: Background process ${process.id} matched the watch pattern ${JSON.stringify(event.pattern)}.\n${commandLine(process)}\nMatching output:\n${event.output}${more}]`
}

export function disabledNotice(process: Named): string {
  return `[IMPORTANT: Background process ${process.id} matches its watch patterns too often, so they are off now. You will be told when it ends.\n${commandLine(process)}]`
}

function commandLine({ command }: Named): string {
  return `Command: ${command.length > COMMAND_CHARS ? `${command.slice(0, COMMAND_CHARS)}...` : command}`
}

/** The end of a text, from the beginning of a line where there is one. */
function tail(text: string): string {
  if (text.length <= OUTPUT_CHARS) return text
  const cut = text.slice(-OUTPUT_CHARS)
  const line = cut.indexOf("\n")
  return `...\n${line === -1 ? cut : cut.slice(line + 1)}`
}
