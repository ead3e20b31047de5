import { coerceValue } from "../../config/document/value-coercion.ts"
import { checkText } from "../../config/edit-config.ts"
import { loosensProtection } from "../../config/loosens-protection.ts"
import type { HomeContext } from "../home-context.ts"
import { checkPermissionValue } from "./check-permission-value.ts"
import { loadSettings } from "./load-settings.ts"

/**
 * What protection a change would remove, as a sentence for the question before it; undefined when it removes none. `text` is the value as
 * the user typed it, undefined to remove the setting.
 */
export async function findLostProtection(
  context: HomeContext,
  path: string,
  text: string | undefined,
): Promise<string | undefined> {
  const value = text === undefined ? undefined : coerceValue(text)
  const { config } = await loadSettings(context)
  // A value that cannot be used is refused by the edit.
  if (value?.ok === false) return undefined
  if (text !== undefined && !(checkText(path, text, config.user()).ok && checkPermissionValue(path, text, config).ok))
    return undefined
  return loosensProtection(path, config.lookup(path), value?.value)
}
