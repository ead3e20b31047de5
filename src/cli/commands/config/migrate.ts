import { migrateSettings } from "../../../admin/settings/edit-settings.ts"
import { asSentence } from "../../../base/sentence.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"

/** `hermes config migrate`. Asks nothing, because it keeps a copy of the file; `--yes` is accepted for scripts. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal, home } = invocation
  const migration = valueOrCliError(await migrateSettings(homeContext(invocation)))
  for (const warning of migration.warnings) terminal.errLine(asSentence(warning))
  if (flags.has("json")) {
    const { from, to, changed, backup = null, warnings } = migration
    printJson(terminal, { from, to, changed, backup, warnings })
    return 0
  }
  if (migration.changed.length === 0) {
    terminal.line(`${home.display(home.file("config.yaml"))} needs no change.`)
    return 0
  }
  terminal.line(`Migrated from version ${migration.from} to ${migration.to}:`)
  for (const path of migration.changed) terminal.line(`  ${path}`)
  if (migration.backup !== undefined) terminal.line(`The old file is kept as ${home.display(migration.backup)}.`)
  return 0
}
