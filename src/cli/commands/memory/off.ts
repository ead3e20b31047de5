import { turnOffMemoryProvider } from "../../../admin/memory/memory.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"
import { oneLine } from "../../../terminal/text-layout.ts"

/** `hermes memory off`: stops using the external memory provider; the two files stay in use. */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal } = invocation
  const memoryProvider = valueOrCliError(await turnOffMemoryProvider(homeContext(invocation)))
  if (memoryProvider === undefined) {
    terminal.line("No memory provider is in use, only MEMORY.md and USER.md.")
    terminal.line("To turn those off: hermes config set memory.memory_enabled false")
    return 0
  }
  terminal.line(`${oneLine(memoryProvider)} is no longer used. MEMORY.md and USER.md stay as they are.`)
  return 0
}
