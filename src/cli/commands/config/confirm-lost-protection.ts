import { findLostProtection } from "../../../admin/settings/lost-protection.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"

/** A setting and its new value as the user typed it; undefined removes the setting. */
export type SettingChange = readonly [path: string, text: string | undefined]

/**
 * Asks a user at a terminal before changes that remove protection. True when there is nothing to ask; without a terminal the changes are
 * made as they were written.
 */
export async function mayLoosenProtection(invocation: Invocation, changes: readonly SettingChange[]): Promise<boolean> {
  const { terminal } = invocation
  if (!terminal.stdinIsTty || !(terminal.stdoutIsTty || terminal.stderrIsTty)) return true
  const lost: string[] = []
  for (const [path, text] of changes) lost.push((await findLostProtection(homeContext(invocation), path, text)) ?? "")
  const reasons = lost.filter((reason) => reason !== "").join(" ")
  const paths = changes.map(([path]) => path).join(", ")
  if (reasons === "" || (await terminal.confirm(`${reasons} Change ${paths} anyway?`)) === true) return true
  terminal.errLine("Nothing was changed.")
  return false
}
