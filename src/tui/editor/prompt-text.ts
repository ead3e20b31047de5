import { cutToColumns } from "../../terminal/text-layout.ts"
import type { Theme } from "../theme/theme.ts"

const MAX_PROFILE_COLUMNS = 16
const MIN_PROFILE_COLUMNS = 4
const MIN_COLUMNS_FOR_MODE = 24
const MAX_SYMBOL_COLUMNS = 4

/** What stands before the draft: the mode of the Vim keys, the profile if it is not the default, and the symbol of the skin. */
export function promptText(
  shown: { readonly vimMode?: "insert" | "normal"; readonly profile?: string; readonly isWorking: boolean },
  columns: number,
  theme: Theme,
): string {
  const showsMode = shown.vimMode !== undefined && columns >= MIN_COLUMNS_FOR_MODE
  const mode = showsMode ? (shown.vimMode === "normal" ? "[N] " : "[I] ") : ""
  const room = Math.min(MAX_PROFILE_COLUMNS, Math.floor(columns / 4))
  const showsProfile = shown.profile !== undefined && room >= MIN_PROFILE_COLUMNS
  const profile = showsProfile ? `${cutToColumns(shown.profile ?? "", room)} ` : ""
  const symbol = shown.isWorking ? "⚕" : cutToColumns(theme.branding.promptSymbol, MAX_SYMBOL_COLUMNS)
  return `${mode}${profile}${symbol} `
}
