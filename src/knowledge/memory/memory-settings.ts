import type { Clock } from "../../base/clock.ts"
import type { Config } from "../../config/load-config.ts"
import { memoryPaths, type MemoryTarget } from "./memory-file.ts"
import type { MemoryStoreOptions } from "./memory-store.ts"
import { stageWrite } from "./staged-writes.ts"

/** Builds the options of the memory store from the settings of a home directory. */
export function memoryStoreOptions(sources: {
  readonly home: string
  readonly config: Pick<Config, "get">
  readonly clock: Clock
}): MemoryStoreOptions {
  const { home, config, clock } = sources
  const { memoryPath, userPath, stagingPath } = memoryPaths(home)
  const disabled: readonly MemoryTarget[] = [
    ...(config.get("memory.memory_enabled") ? [] : (["memory"] as const)),
    ...(config.get("memory.user_profile_enabled") ? [] : (["user"] as const)),
  ]
  return {
    memoryPath,
    userPath,
    limits: { memory: config.get("memory.memory_char_limit"), user: config.get("memory.user_char_limit") },
    clock,
    disabled,
    ...(config.get("memory.write_approval") ? { stage: (write) => stageWrite(stagingPath, write, clock) } : {}),
  }
}
