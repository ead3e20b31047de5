import { resolve } from "node:path"

import { systemClock } from "../../../base/clock.ts"
import type { Result } from "../../../base/result.ts"
import { checkpointSettings } from "../../../exec/checkpoints/checkpoint-settings.ts"
import type { CheckpointSettings } from "../../../exec/checkpoints/checkpoint-settings.ts"
import { projectRoot } from "../../../exec/checkpoints/project-root.ts"
import { createShadowStore } from "../../../exec/checkpoints/shadow-store.ts"
import type { ShadowStore } from "../../../exec/checkpoints/shadow-store.ts"
import { CliError } from "../../command.ts"
import type { Invocation } from "../../command.ts"
import { loadSettings } from "../../settings-access.ts"

export interface OpenCheckpoints {
  readonly store: ShadowStore
  readonly settings: CheckpointSettings
  /** The project that the command is about: the one of `--dir`, or of the directory it was started in. */
  readonly root: string
}

export async function openCheckpoints({ home, environment }: Invocation, directory?: string): Promise<OpenCheckpoints> {
  const { config } = await loadSettings({ home, environment })
  const settings = checkpointSettings(config)
  const path = environment.get("PATH") ?? ""
  const store = createShadowStore({ home: home.path, path, ...settings, clock: systemClock })
  return { store, settings, root: projectRoot(resolve(directory ?? "."), home.userHome) }
}

/** The value, or the refusal as this command's answer. */
export function granted<T>(result: Result<T>): T {
  if (result.ok) return result.value
  const { error } = result
  throw new CliError(`${error.slice(0, 1).toUpperCase()}${error.slice(1)}.`, { exitCode: 1 })
}
