import { systemClock } from "../../../base/clock.ts"
import { forgetMemory } from "../../../knowledge/memory/forget-memory.ts"
import { MEMORY_TARGETS } from "../../../knowledge/memory/memory-file.ts"
import { memoryOptions } from "../../../knowledge/memory/memory-settings.ts"
import { CliError, type Invocation } from "../../command.ts"
import { confirmed } from "../../confirmation.ts"
import { loadSettings } from "../../settings-access.ts"

/** `hermes memory reset` */
export async function run({ flags, terminal, home, environment }: Invocation): Promise<number> {
  const { config } = await loadSettings({ home, environment })
  const { memoryPath, userPath } = memoryOptions({ home: home.path, config, clock: systemClock })
  const wanted = flags.text("target") ?? "all"
  const paths = MEMORY_TARGETS.filter((target) => wanted === "all" || wanted === target).map((target) =>
    target === "memory" ? memoryPath : userPath,
  )
  const names = paths.map((path) => home.display(path)).join(" and ")
  const sure = await confirmed(`Remove ${names} for good? [y/N] `, {
    terminal,
    assumed: flags.has("yes"),
    flag: "--yes",
  })
  if (!sure) {
    terminal.line("Nothing was changed.")
    return 1
  }
  for (const path of paths) {
    const removed = await forgetMemory(path)
    if (!removed.ok) throw new CliError(removed.error, { exitCode: 1 })
  }
  terminal.line(`Removed ${names}. Conversations that are open still know what they were told.`)
  return 0
}
