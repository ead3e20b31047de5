import { startTerminalGuard } from "../../exec/terminal-guard.ts"
import type { TerminalGuard } from "../../exec/terminal-guard.ts"

/** Restores the terminal if this process is killed. `sequence` ends the modes that were turned on. */
export function guardTerminal(sequence: string): TerminalGuard {
  return startTerminalGuard(sequence)
}
