import { copyFileSync, existsSync } from "node:fs"
import { unusedPath } from "../../base/kept-copies.ts"
import type { Result } from "../../base/result.ts"
import { fileTimestamp } from "../../config/config-file.ts"
import { saveConfig } from "../../config/edit-config.ts"
import type { AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"

/** Copies `config.yaml`, so that the user can undo wrong answers by hand. Returns the path of the copy; undefined without a file. */
export function backUpConfig({ home, clock }: HomeContext): string | undefined {
  const path = home.file("config.yaml")
  if (!existsSync(path)) return undefined
  const copy = unusedPath(`${path}.bak.${fileTimestamp(clock.now())}`)
  copyFileSync(path, copy)
  return copy
}

/** Replaces all settings with their defaults. */
export async function resetConfig(context: HomeContext): Promise<Result<undefined, AdminFailure>> {
  return await saveConfig(context, {})
}
