import { constants } from "node:os"

/** How a script ended, with its output as it was printed. */
export type ScriptEnd = { readonly stdout: string; readonly stderr: string } & (
  | { readonly how: "exited"; readonly code: number | null; readonly signal?: string }
  | { readonly how: "timeout" | "interrupted" }
  /** It could not be started. */
  | { readonly how: "error"; readonly error: string }
)

export function notStarted(error: string): ScriptEnd {
  return { how: "error", error, stdout: "", stderr: "" }
}

/** A shell and the sandbox report a signal as an exit code. */
export function signalOf(code: number | null): string | undefined {
  if (code === null || code <= 128) return undefined
  return Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0]
}

/** Replaces the paths of the staging directory by the names of its files, and drops frames that are not the script's. */
export function shortenPaths(text: string, directory: string): string {
  return text
    .replaceAll(`file://${directory}/`, "")
    .replaceAll(`${directory}/`, "")
    .split("\n")
    .filter((line) => !OTHER_FRAMES.test(line))
    .join("\n")
}

const OTHER_FRAMES = /^ {4}at .*(?:node:internal|main\.mjs|hermes_\w+\.mjs)|^Node\.js v\d/u
