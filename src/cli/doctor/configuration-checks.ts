import { existsSync } from "node:fs"
import { isOutdated, migrateConfig } from "../../config/migration/migrate.ts"
import { CONFIG_VERSION } from "../../config/settings.ts"
import { configVersionOf } from "../../config/validate.ts"
import { asSentence } from "../sentence.ts"
import { granted } from "../settings-access.ts"
import { good, note, type DoctorContext, type Finding, type Section } from "./finding.ts"

export const configurationSection: Section = {
  title: "Configuration",
  check: (context) => {
    const { config, warnings } = context.settings
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

function fileFindings({ home, settings }: DoctorContext): readonly Finding[] {
  const { config, environment } = settings
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
  if (!existsSync(config.path)) return [note(`${shown} does not exist; all settings have their defaults`)]
  const version = configVersionOf(config.user())
  const stated = version === 0 ? "no version" : `version ${version}`
  if (!isOutdated(config.user(), { home, environment })) {
    return [good(version === 0 ? `${shown}, written by hand; nothing in it is outdated` : `${shown}, ${stated}`)]
  }
  return [
    {
      level: "warning",
      text: `${shown} has ${stated}, this release writes ${CONFIG_VERSION}`,
      fix: "run `hermes config migrate`",
      repair: {
        announcement: `Migrating ${shown}; the old file is kept beside it.`,
        run: async () => {
          granted(await migrateConfig({ home, environment }))
        },
      },
    },
  ]
}
