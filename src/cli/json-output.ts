import type { Terminal } from "./terminal.ts"

/** The `--json` form of a listing: one document, indented for people who look at it. */
export function printJson(terminal: Terminal, value: unknown): void {
  terminal.line(JSON.stringify(value, undefined, 2))
}
