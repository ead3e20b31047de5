import type { Clock } from "../../base/clock.ts"
import type { Config } from "../../config/load.ts"
import { memoryPaths, type MemoryTarget } from "./memory-file.ts"
import type { MemoryStoreOptions } from "./memory-store.ts"
import { stageWrite } from "./staged-writes.ts"

/** The memory of a home as its settings want it; `home` is the directory. */
export function memoryOptions(sources: {
  readonly home: string
  readonly config: Pick<Config, "get">
  readonly clock: Clock
}): MemoryStoreOptions {
  const { home, config, clock } = sources
  const { memoryPath, userPath, stagingPath } = memoryPaths(home)
  const off: readonly MemoryTarget[] = [
    ...(config.get("memory.memory_enabled") ? [] : (["memory"] as const)),
    ...(config.get("memory.user_profile_enabled") ? [] : (["user"] as const)),
  ]
  return {
    memoryPath,
    userPath,
    limits: { memory: config.get("memory.memory_char_limit"), user: config.get("memory.user_char_limit") },
    clock,
    off,
    ...(config.get("memory.write_approval") ? { stage: (write) => stageWrite(stagingPath, write, clock) } : {}),
  }
}
