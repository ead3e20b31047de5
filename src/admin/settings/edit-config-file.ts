import { existsSync } from "node:fs"
import { writeFileAtomic } from "../../base/atomic-file.ts"
import { findProgram } from "../../base/find-program.ts"
import type { Environment } from "../../config/environment.ts"
import { ensureHome, secretMode } from "../../config/home.ts"
import { CONFIG_VERSION } from "../../config/settings.ts"
import { runInteractively } from "../../exec/interactive-program.ts"
import type { HomeContext } from "../home-context.ts"

const EDITORS = ["nano", "vim", "vi", "code"]

/** The command of the user's editor: `EDITOR`, `VISUAL`, or the first common editor that is installed. */
export function findEditor(
  environment: Environment,
  variables: readonly ("EDITOR" | "VISUAL")[] = ["EDITOR", "VISUAL"],
): string | undefined {
  const named = variables.map((name) => environment.get(name)).find((value) => (value ?? "").trim() !== "")
  return named ?? EDITORS.find((name) => findProgram(name, environment.get("PATH") ?? "") !== undefined)
}

/** Opens `config.yaml` in an editor, which takes over the terminal, and returns its exit code. Creates the file if needed. */
export async function editConfigFile({ home, environment }: HomeContext, editor: string): Promise<number> {
  const path = home.file("config.yaml")
  ensureHome(home, environment)
  if (!existsSync(path))
    writeFileAtomic(path, `_config_version: ${CONFIG_VERSION}\n`, { mode: secretMode(environment) })
  return await runInteractively(editor, path)
}
