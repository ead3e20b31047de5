import { editConfig } from "../../../config/edit.ts"
import type { Invocation } from "../../command.ts"
import { granted, loadSettings } from "../../settings-access.ts"
import { oneLine } from "../../text-layout.ts"

/** `hermes memory off`: no external provider any more; the two files stay in use. */
export async function run({ terminal, home, environment: inherited }: Invocation): Promise<number> {
  const { config, environment } = await loadSettings({ home, environment: inherited })
  const provider = config.get("memory.provider")
  if (provider === "") {
    terminal.line("No memory provider is in use, only MEMORY.md and USER.md.")
    terminal.line("To switch those off: hermes config set memory.memory_enabled false")
    return 0
  }
  granted(await editConfig({ home, environment }, [{ path: "memory.provider", value: "" }]))
  terminal.line(`${oneLine(provider)} is no longer used. MEMORY.md and USER.md stay as they are.`)
  return 0
}
