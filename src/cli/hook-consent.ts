import { approve } from "../admin/hooks/hooks.ts"
import type { ListedHook } from "../admin/hooks/hooks.ts"
import { visibleText } from "../base/visible-text.ts"
import type { Invocation } from "./command.ts"
import { homeContext } from "./home-context.ts"

/** Asks about each hook that has not been approved yet, and stores the approvals. False when the user cannot be asked or left. */
export async function askAboutHooks(
  hooks: readonly ListedHook[],
  cwd: string,
  invocation: Pick<Invocation, "home" | "environment" | "terminal">,
): Promise<boolean> {
  const { terminal } = invocation
  for (const { hook } of hooks.filter(({ approved }) => !approved)) {
    const command = visibleText(hook.command).text.replaceAll("\n", String.raw`\n`)
    const origin = hook.file === undefined ? "" : ` from ${hook.file}`
    const answer = await terminal.confirm(`Run the hook \`${command}\`${origin} on every ${hook.event}?`)
    if (answer === undefined) return false
    if (!answer) continue
    await approve(homeContext(invocation), hook, cwd)
    terminal.errLine(`Approved: ${command} (${hook.event})`)
  }
  return true
}
