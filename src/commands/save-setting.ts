import { setSetting } from "../admin/settings/edit-settings.ts"
import { asSentence } from "../base/sentence.ts"
import type { SettingKey } from "../config/settings.ts"
import type { SlashContext } from "./slash-command.ts"

/** Keeps a setting for later sessions. Returns what to tell the user when that failed. */
export async function saveSetting(
  key: SettingKey,
  value: string,
  { app }: Pick<SlashContext, "app">,
): Promise<string | undefined> {
  const saved = await setSetting(app, key, value)
  return saved.ok ? undefined : `It was not saved: ${asSentence(saved.error.message)}`
}
