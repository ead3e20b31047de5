import { existsSync } from "node:fs"
import { fail, ok } from "../../base/result.ts"
import { isOutdated, migrateConfig } from "../../config/migration/migrate.ts"
import { CONFIG_VERSION } from "../../config/settings.ts"
import { configVersionOf } from "../../config/validate.ts"
import { asSentence } from "../../base/sentence.ts"
import { okFinding, infoFinding, type DoctorContext, type Finding, type Section } from "./finding.ts"

export const configurationSection: Section = {
  title: "Configuration",
  check: (context) => {
    const { config, warnings } = context
    return [
      ...fileFindings(context),
      ...config.problems.map(({ severity, path, message, fix }): Finding => ({
        level: severity === "error" ? "failure" : "warning",
        text: path === "" ? message : `${path}: ${message}`,
        fix,
      })),
      ...warnings.map((warning): Finding => ({ level: "warning", text: `.env: ${asSentence(warning)}` })),
    ]
  },
}

function fileFindings({ home, config, environment }: DoctorContext): readonly Finding[] {
  const shown = home.display(config.path)
  if (config.broken !== undefined) {
    const { line, column, message } = config.broken
    return [
      {
        level: "failure",
        text: `${shown} does not parse (line ${line}, column ${column}: ${message}); its settings are ignored`,
        fix: `repair line ${line} of ${shown}, then run \`hermes config check\``,
      },
    ]
  }
  if (!existsSync(config.path)) return [infoFinding(`${shown} does not exist; all settings have their defaults`)]
  const version = configVersionOf(config.user())
  const stated = version === 0 ? "no version" : `version ${version}`
  if (!isOutdated(config.user(), { home, environment })) {
    return [okFinding(version === 0 ? `${shown}, written by hand; nothing in it is outdated` : `${shown}, ${stated}`)]
  }
  return [
    {
      level: "warning",
      text: `${shown} has ${stated}, this release writes ${CONFIG_VERSION}`,
      fix: "run `hermes config migrate`",
      repair: {
        announcement: `Migrating ${shown}; the old file is kept next to it.`,
        run: async () => {
          const migrated = await migrateConfig({ home, environment })
          return migrated.ok ? ok(undefined) : fail(migrated.error.message)
        },
      },
    },
  ]
}
