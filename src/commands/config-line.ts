import { setSetting } from "../admin/settings/edit-settings.ts"
import { findLostProtection } from "../admin/settings/lost-protection.ts"
import { readSetting } from "../admin/settings/read-setting.ts"
import { maskSettings } from "../admin/settings/mask-settings.ts"
import { asSentence } from "../base/sentence.ts"
import { isSecretKey, secretVariable } from "../config/secrets.ts"
import type { SlashContext } from "./slash-command.ts"

const USAGE = "Usage: /config, /config KEY, or /config set KEY VALUE."

/** `/config KEY` and `/config set KEY VALUE`. Returns what to tell the user. */
export async function runConfigLine(argument: string, context: SlashContext): Promise<string> {
  const [, verb = "", key = "", value = ""] = /^(?:(get|set)\s+)?(\S+)(?:\s+([^]+))?$/u.exec(argument.trim()) ?? []
  if (verb === "set" && value !== "") return await changeSetting(key, value.trim(), context)
  return value !== "" || verb === "set" || key === "set" ? USAGE : await showSetting(key, context)
}

async function showSetting(key: string, { app }: SlashContext): Promise<string> {
  const read = await readSetting(app, key)
  if (read.ok) {
    const shown = maskSettings(read.value.value, { key: lastName(key), secrets: "ends" })
    return `${key} = ${typeof shown === "string" ? shown : JSON.stringify(shown)}`
  }
  if (read.error.kind === "broken-file") return asSentence(read.error.message)
  const { suggestion } = read.error
  return `\`${key}\` is not set.${suggestion === undefined ? ` ${USAGE}` : ` Did you mean \`${suggestion}\`?`}`
}

async function changeSetting(key: string, value: string, { app, confirm, pick }: SlashContext): Promise<string> {
  if (isSecretKey(lastName(key)) || secretVariable(key) !== undefined) {
    const where = pick === undefined ? "" : "; /config without arguments asks for it unseen"
    return `A key does not belong in a conversation. Use \`hermes config set ${key} …\` in a shell${where}.`
  }
  const lost = await findLostProtection(app, key, value)
  if (lost !== undefined && (await confirm?.(`${lost} Change ${key} anyway?`)) !== true) return "Nothing was changed."
  const edited = await setSetting(app, key, value)
  if (!edited.ok) return asSentence(edited.error.message)
  const { paths, warnings, secretVariables } = edited.value
  return [
    `Set ${paths.join(", ")}. It applies from the next start on.`,
    ...(secretVariables.length === 0 ? [] : [`The secret is stored in .env as ${secretVariables.join(", ")}.`]),
    ...warnings.map(asSentence),
  ].join("\n")
}

function lastName(key: string): string {
  return key.split(".").at(-1) ?? key
}
