import type { Home } from "../../config/home.ts"
import type { Config } from "../../config/load-config.ts"
import { readClaudeHooks } from "./claude-code.ts"
import { isApproved, readConsents } from "./consent.ts"
import { readHookSettings } from "./hook-settings.ts"
import type { FoundShellHooks, ShellHook } from "./shell-hook.ts"

export interface HookSource {
  readonly config: Config
  readonly home: Home
  readonly cwd: string
}

export function findShellHooks({ config, home, cwd }: HookSource): FoundShellHooks {
  const own = readHookSettings(config.get("hooks"))
  const claude = config.get("hooks_claude_code")
    ? readClaudeHooks({ userHome: home.userHome, cwd })
    : { hooks: [], warnings: [] }
  return { hooks: [...own.hooks, ...claude.hooks], warnings: [...own.warnings, ...claude.warnings] }
}

/** Divides hooks by consent. Those that a project brings need the user's approval even where others are accepted without one. */
export function divideByConsent(
  hooks: readonly ShellHook[],
  { config, home }: Pick<HookSource, "config" | "home">,
): { readonly approved: readonly ShellHook[]; readonly waiting: readonly ShellHook[] } {
  const consents = readConsents(home)
  const mayRun = (hook: ShellHook): boolean =>
    isApproved(hook, consents) || (hook.fromProject !== true && config.get("hooks_auto_accept"))
  return { approved: hooks.filter(mayRun), waiting: hooks.filter((hook) => !mayRun(hook)) }
}
