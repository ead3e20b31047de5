import { resolve } from "node:path"
import { importProfile } from "../../../config/profiles/profile-archive.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"

/** `hermes profile import ARCHIVE [--name N]` */
export async function run({ flags, positionals, terminal, home, environment }: Invocation): Promise<number> {
  const [archive = ""] = positionals
  const name = flags.text("name")
  const imported = valueOrCliError(
    await importProfile({ home, environment }, resolve(archive), name === undefined ? {} : { name }),
  )
  terminal.line(
    `Imported the profile ${imported.profile} into ${home.display(imported.path)}. Add its keys with: hermes -p ${imported.profile} config set NAME VALUE`,
  )
  return 0
}
