import type { Terminal } from "../../terminal/terminal.ts"

/** Prints the result of a command with `--json`: one indented document. */
export function printJson(terminal: Terminal, value: unknown): void {
  terminal.line(JSON.stringify(value, undefined, 2))
}
