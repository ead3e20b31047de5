import { migrateConfig } from "../../../config/migration/migrate.ts"
import type { Invocation } from "../../command.ts"
import { asSentence } from "../../sentence.ts"
import { granted, loadSettings } from "../../settings-access.ts"

/** `hermes config migrate`. It keeps a copy of the file first, so it asks nothing; `--yes` is accepted for scripts. */
export async function run({ terminal, home, environment: inherited }: Invocation): Promise<number> {
  const { environment } = await loadSettings({ home, environment: inherited })
  const migration = granted(await migrateConfig({ home, environment }))
  for (const warning of migration.warnings) terminal.errLine(asSentence(warning))
  if (migration.changed.length === 0) {
    terminal.line(`${home.display(home.file("config.yaml"))} needs no change.`)
    return 0
  }
  terminal.line(`Migrated from version ${migration.from} to ${migration.to}:`)
  for (const path of migration.changed) terminal.line(`  ${path}`)
  if (migration.backup !== undefined) terminal.line(`The old file is kept as ${home.display(migration.backup)}.`)
  return 0
}
