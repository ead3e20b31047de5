import type { ShellWord, UnderstoodCommand } from "../shell/understood-command.ts"
import { programName } from "./invocation.ts"
import { createdPath } from "./printed-names.ts"

/** `tmp=$(mktemp -d); …; rm -rf "$tmp"`: the line made what it deletes, and moves nothing else there. */
export function deletesOnlyCreated(operands: readonly ShellWord[], { commands }: UnderstoodCommand): boolean {
  return (
    operands.length > 0 &&
    operands.every((word) => createdPath(word) !== undefined) &&
    !commands.some(({ program }) => MOVES.has(program ?? ""))
  )
}

const MOVES: ReadonlySet<string> = new Set(["mv", "gmv", "rsync", "mount", "ln", "gln", "link"])

/** True when every `rm` in the text of a line is such a command. */
export function namesOnlyCreated(line: string, understood: UnderstoodCommand): boolean {
  if (understood.doubts.length > 0 || !line.includes("mktemp")) return false
  const deletions = understood.commands.filter(({ program }) => programName(program ?? "") === "rm")
  return (
    // One in a loop or behind a condition may be listed several times.
    new Set(deletions.map(({ wholeText }) => wholeText)).size === line.match(/rm/gu)?.length &&
    deletions.every(({ argv }) =>
      deletesOnlyCreated(
        argv.slice(1).filter(({ text }) => !text.startsWith("-")),
        understood,
      ),
    )
  )
}
