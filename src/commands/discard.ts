import type { SlashContext } from "./slash-command.ts"

/** An argument without the words that skip the question. */
export interface DiscardArgument {
  readonly text: string
  readonly isConfirmed: boolean
}

const SKIPPING = /^(?:now|--yes|-y)$/iu

/** Takes `now`, `--yes` and `-y` out of an argument. `now` counts as a last word only. */
export function discardArgument(argument: string): DiscardArgument {
  const words = argument.split(/\s+/u).filter((word) => word !== "")
  const kept = words.filter((word, index) => !SKIPPING.test(word) || (/^now$/iu.test(word) && index < words.length - 1))
  return { text: kept.join(" "), isConfirmed: kept.length < words.length }
}

/**
 * Asks before a command discards something. True without a question if the argument says so, if the setting says so, and where no user
 * can be asked. The settings are read again, because an earlier "always" may have changed them.
 */
export async function mayDiscard(
  question: string,
  { isConfirmed }: Pick<DiscardArgument, "isConfirmed">,
  { app, confirm, confirmOrAlways }: SlashContext,
): Promise<boolean> {
  if (isConfirmed || (confirm === undefined && confirmOrAlways === undefined)) return true
  const { loadSettings } = await import("../admin/settings/load-settings.ts")
  const { config } = await loadSettings(app)
  if (!config.get("approvals.destructive_slash_confirm")) return true
  if (confirmOrAlways === undefined) return (await confirm?.(question)) ?? true
  const answer = await confirmOrAlways(question)
  if (answer === "always") {
    const { setSetting } = await import("../admin/settings/edit-settings.ts")
    await setSetting(app, "approvals.destructive_slash_confirm", "false")
  }
  return answer !== "cancel"
}
