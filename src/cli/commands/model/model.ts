import { ensureHome } from "../../../config/home.ts"
import type { Invocation } from "../../command.ts"
import { loadSettings } from "../../settings-access.ts"
import { logInAndKeep, loginWishes, type LoginWishes } from "../auth/log-in.ts"
import { openTarget } from "../auth/provider-pool.ts"
import { chooseInteractively } from "./choose.ts"
import { refreshLists } from "./refresh.ts"

/** `hermes model`: provider, key and model, asked one after the other. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal, home, environment: inherited, signal } = invocation
  ensureHome(home, inherited)
  const settings = await loadSettings({ home, environment: inherited })
  const place = { home, terminal, signal, ...settings, logIn: loginAt(invocation, loginWishes(flags)) }
  const interactive = terminal.stdinIsTty && terminal.stderrIsTty
  if (flags.has("refresh")) {
    const fetched = await refreshLists(place)
    if (!interactive) return fetched ? 0 : 1
  }
  if (interactive) return await chooseInteractively(place)
  for (const line of WITHOUT_A_TERMINAL) terminal.errLine(line)
  return 1
}

/** What `ModelPlace` needs for providers that take no key. */
export function loginAt(invocation: Invocation, wishes: LoginWishes): (provider: string) => Promise<void> {
  return async (provider) => {
    const target = await openTarget({ ...invocation, positionals: [provider] })
    const label = await logInAndKeep(invocation, target, wishes)
    invocation.terminal.line(`Logged in at ${provider} as ${label}.`)
  }
}

/** How to choose where nobody can be asked. */
export const WITHOUT_A_TERMINAL: readonly string[] = [
  "Choosing a model needs a terminal to ask on. Without one, set it directly:",
  "  hermes config set OPENROUTER_API_KEY KEY          the key, kept in .env",
  "  hermes config set model.provider openrouter",
  "  hermes config set model.default anthropic/claude-sonnet-4.6",
  "For a server of your own:",
  "  hermes config set model.provider custom",
  "  hermes config set model.base_url http://127.0.0.1:11434/v1",
  "  hermes config set model.default NAME",
]
