import { openProviderCredentials } from "../../../admin/credentials/provider-credentials.ts"
import { loadHome, type LoadedHome } from "../../../admin/loaded-home.ts"
import { providerAccess } from "../../../admin/models/model-providers.ts"
import { askModelServer } from "../../../admin/models/model-server.ts"
import { saveServerModel } from "../../../admin/models/save-server-model.ts"
import { refreshModelLists } from "../../../admin/models/refresh-model-lists.ts"
import { asSentence } from "../../../base/sentence.ts"
import { shortList } from "../../../base/short-list.ts"
import { counted } from "../../../base/counted.ts"
import { ensureHome } from "../../../config/home.ts"
import { CliError, type Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"
import { VERSION } from "../../version.ts"
import { logInOnTerminal, readLoginFlags, type LoginFlags } from "../auth/log-in.ts"
import { chooseInteractively, namedProvider } from "./choose.ts"

/** `hermes model`: asks for provider, key and model. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal, signal, positionals } = invocation
  const [from, model] = positionals
  const home = await loadHome(homeContext(invocation))
  const named = from === undefined ? undefined : namedProvider(home, from)
  if (from !== undefined && named === undefined) throw new CliError(notNamed(from), { exitCode: 2 })
  ensureHome(invocation.home, invocation.environment)
  const interactive = terminal.stdinIsTty && terminal.stderrIsTty
  if (flags.has("refresh")) {
    const fetched = await refresh(home, invocation)
    if (!interactive) return fetched ? 0 : 1
  }
  const asksNothing =
    named?.kind === "provider" && model !== undefined && providerAccess(home, named.provider).kind === "ready"
  if (interactive || asksNothing) {
    const logIn = loginPrompt(invocation, readLoginFlags(flags))
    const given = { ...(from === undefined ? {} : { from }), ...(model === undefined ? {} : { model }) }
    return await chooseInteractively({ home, terminal, signal, logIn, ...given })
  }
  if (named?.kind === "address") return await useServer({ address: named.address, model }, home, invocation)
  for (const line of WITHOUT_A_TERMINAL) terminal.errLine(line)
  return 1
}

function notNamed(from: string): string {
  return `"${from}" is neither a provider nor the address of a server. \`hermes model\` lists the providers; an address looks like http://localhost:11434/v1.`
}

/** Without a terminal: saves the named model of the server, or its only one. */
async function useServer(
  { address, model }: { readonly address: string; readonly model: string | undefined },
  home: LoadedHome,
  { terminal, signal }: Invocation,
): Promise<number> {
  const reply = await askModelServer(home, address, { version: VERSION, signal })
  if (reply.kind === "failed") throw new CliError(reply.message, { exitCode: 1 })
  if (reply.kind === "needs-key")
    throw new CliError(`${reply.message} Run \`hermes model ${address}\` in a terminal, which asks for it.`, {
      exitCode: 1,
    })
  const { models, ...server } = reply.server
  const chosen = model === undefined && models.length === 1 ? models[0] : models.find(({ id }) => id === model)
  if (chosen === undefined) {
    const names = shortList(models.map(({ id }) => id))
    const problem = model === undefined ? "has several models" : `has no model "${model}"`
    throw new CliError(`${address} ${problem}. Choose one with \`hermes model ${address} NAME\`: ${names}.`, {
      exitCode: 1,
    })
  }
  const warnings = valueOrCliError(await saveServerModel(home, { ...server, model: chosen }))
  terminal.line(
    `Hermes now uses ${chosen.id} at ${server.baseUrl}. Saved in ${home.home.display(home.home.file("config.yaml"))}.`,
  )
  for (const warning of warnings) terminal.errLine(asSentence(warning))
  return 0
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
  "For a server of your own, such as Ollama:",
  "  hermes model http://127.0.0.1:11434/v1 NAME",
]
