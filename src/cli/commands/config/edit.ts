import { existsSync } from "node:fs"
import { writeFileAtomic } from "../../../base/atomic-file.ts"
import { findProgram } from "../../../base/find-program.ts"
import type { Environment } from "../../../config/environment.ts"
import { ensureHome, secretMode } from "../../../config/home.ts"
import { CONFIG_VERSION } from "../../../config/settings.ts"
import { runInteractively } from "../../../exec/interactive-program.ts"
import { CliError, type Invocation } from "../../command.ts"
import { run as check } from "./check.ts"

const EDITORS = ["nano", "vim", "vi", "code"]

/** `hermes config edit`: the person's editor, then the same checks as `config check`. */
export async function run(invocation: Invocation): Promise<number> {
  const { home, environment, terminal } = invocation
  const path = home.file("config.yaml")
  if (!terminal.stdinIsTty) {
    throw new CliError(`an editor needs a terminal; change ${path} with \`hermes config set KEY VALUE\` instead`, {
      exitCode: 1,
    })
  }
  const editor = chosenEditor(environment)
  if (editor === undefined) {
    throw new CliError("no editor was found; name yours in the variable EDITOR", { exitCode: 1 })
  }
  ensureHome(home, environment)
  if (!existsSync(path))
    writeFileAtomic(path, `_config_version: ${CONFIG_VERSION}\n`, { mode: secretMode(environment) })
  const code = await runInteractively(editor, path)
  if (code !== 0) throw new CliError(`the editor \`${editor}\` ended with code ${code}`, { exitCode: 1 })
  return await check(invocation)
}

function chosenEditor(environment: Environment): string | undefined {
  const named = [environment.get("EDITOR"), environment.get("VISUAL")].find((value) => (value ?? "").trim() !== "")
  return named ?? EDITORS.find((name) => findProgram(name, environment.get("PATH") ?? "") !== undefined)
}
