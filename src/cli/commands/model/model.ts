import { openProviderCredentials } from "../../../admin/credentials/provider-credentials.ts"
import { loadHome, type LoadedHome } from "../../../admin/loaded-home.ts"
import { refreshModelLists } from "../../../admin/models/refresh-model-lists.ts"
import { counted } from "../../../base/counted.ts"
import { ensureHome } from "../../../config/home.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"
import { VERSION } from "../../version.ts"
import { logInOnTerminal, readLoginFlags, type LoginFlags } from "../auth/log-in.ts"
import { chooseInteractively } from "./choose.ts"

/** `hermes model`: asks for provider, key and model. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal, signal } = invocation
  ensureHome(invocation.home, invocation.environment)
  const home = await loadHome(homeContext(invocation))
  const interactive = terminal.stdinIsTty && terminal.stderrIsTty
  if (flags.has("refresh")) {
    const fetched = await refresh(home, invocation)
    if (!interactive) return fetched ? 0 : 1
  }
  if (interactive) {
    return await chooseInteractively({ home, terminal, signal, logIn: loginPrompt(invocation, readLoginFlags(flags)) })
  }
  for (const line of WITHOUT_A_TERMINAL) terminal.errLine(line)
  return 1
}

/** Returns whether any list was fetched. */
async function refresh(home: LoadedHome, { terminal, signal }: Invocation): Promise<boolean> {
  const { manifest, providers } = await refreshModelLists(home, { version: VERSION, signal })
  const lists = [...(manifest === undefined ? [] : [manifest]), ...providers]
  for (const { source, contains, count } of lists) {
    if (count.ok) terminal.line(`${source}: ${counted(count.value, contains)}`)
    else terminal.errLine(`${source} ${count.error}.`)
  }
  if (providers.length === 0) {
    terminal.errLine("No provider has a key yet, so there is no list to fetch. `hermes model` sets one up.")
  }
  return lists.some(({ count }) => count.ok)
}

/** Returns the `logIn` of `ModelPrompt`, for providers that accept no key. */
export function loginPrompt(invocation: Invocation, flags: LoginFlags): (provider: string) => Promise<void> {
  const { signal, terminal } = invocation
  return async (provider) => {
    const target = valueOrCliError(await openProviderCredentials(homeContext(invocation), { provider, signal }))
    const label = await logInOnTerminal(invocation, target, flags)
    terminal.line(`Logged in at ${provider} as ${label}.`)
  }
}

export const WITHOUT_A_TERMINAL: readonly string[] = [
  "Choosing a model needs a terminal. Without one, set the model directly:",
  "  hermes config set OPENROUTER_API_KEY KEY          the key, kept in .env",
  "  hermes config set model.provider openrouter",
  "  hermes config set model.default anthropic/claude-sonnet-4.6",
  "For a server of your own:",
  "  hermes config set model.provider custom",
  "  hermes config set model.base_url http://127.0.0.1:11434/v1",
  "  hermes config set model.default NAME",
]
