import { systemClock } from "../../../base/clock.ts"
import { MEMORY_TARGETS, memoryPaths, type MemoryTarget } from "../../../knowledge/memory/memory-file.ts"
import { memoryOptions } from "../../../knowledge/memory/memory-settings.ts"
import { createMemoryStore, type MemoryStoreOptions } from "../../../knowledge/memory/memory-store.ts"
import { listStagedWrites } from "../../../knowledge/memory/staged-writes.ts"
import type { Invocation } from "../../command.ts"
import { loadSettings } from "../../settings-access.ts"
import { counted, oneLine } from "../../text-layout.ts"

/** `hermes memory [status]` */
export async function run({ terminal, home, environment }: Invocation): Promise<number> {
  const { config } = await loadSettings({ home, environment })
  const options = memoryOptions({ home: home.path, config, clock: systemClock })
  const { notices } = createMemoryStore(options).snapshot()
  const provider = config.get("memory.provider")
  const waiting = listStagedWrites(memoryPaths(home.path).stagingPath).length
  const rows: readonly (readonly [string, string])[] = [
    ...MEMORY_TARGETS.map((target) => [fileName(target), fileText(target, options)] as const),
    ["provider", provider === "" ? "none, only the two files are used" : `${provider} (not installed)`],
    ["approval", config.get("memory.write_approval") ? "you are asked before every change" : "not needed"],
    ["waiting", waiting === 0 ? "nothing" : `${counted(waiting, "change")}; decide with /memory in a conversation`],
  ]
  for (const [name, value] of rows) terminal.line(`${name.padEnd(10)} ${oneLine(value)}`)
  for (const notice of notices) terminal.errLine(oneLine(notice))
  return 0
}

function fileName(target: MemoryTarget): string {
  return target === "memory" ? "MEMORY.md" : "USER.md"
}

function fileText(target: MemoryTarget, options: MemoryStoreOptions): string {
  const answer = createMemoryStore(options).read(target)
  const off = options.off?.includes(target) === true ? " (switched off)" : ""
  return answer.kind === "done" ? `${answer.usage}, ${answer.message}${off}` : `not usable${off}`
}
