import { existsSync } from "node:fs"
import { memoryFilePaths, resetMemory } from "../../../admin/memory/memory.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { confirmed } from "../../terminal/confirmation.ts"

/** `hermes memory reset` */
export async function run({ flags, terminal, home }: Invocation): Promise<number> {
  const target = flags.text("target")
  const paths = memoryFilePaths({ home }, target === "memory" || target === "user" ? target : "all")
  const existing = paths.filter((path) => existsSync(path))
  if (existing.length === 0) {
    terminal.line("There is no memory to delete.")
    return 0
  }
  const names = existing.map((path) => home.display(path)).join(" and ")
  const question = `Delete ${names} permanently?`
  if (!(await confirmed(question, { terminal, assumed: flags.has("yes") }))) {
    terminal.line("Nothing was changed.")
    return 1
  }
  valueOrCliError(await resetMemory(existing))
  terminal.line(`Deleted ${names}. Open conversations keep the memory they started with.`)
  return 0
}
