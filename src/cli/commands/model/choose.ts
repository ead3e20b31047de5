import type { LoadedHome } from "../../../admin/loaded-home.ts"
import {
  findModelProvider,
  listModelProviders,
  providerAccess,
  providerOfLocalServer,
  type ModelProviderOption,
} from "../../../admin/models/model-providers.ts"
import { listOfferedModels, resolveOfferedModel, type OfferedModel } from "../../../admin/models/offered-models.ts"
import { saveModelChoice } from "../../../admin/models/save-model-choice.ts"
import { providerAtAddress } from "../../../admin/models/model-server.ts"
import { parseServerAddress } from "../../../admin/models/server-address.ts"
import {
  serverKeyVariable,
  storeProviderKey,
  withProviderKey,
  type ProviderSecret,
} from "../../../admin/models/store-provider-key.ts"
import { assertNever } from "../../../base/assert-never.ts"
import { compactCount } from "../../../base/compact-count.ts"
import { counted } from "../../../base/counted.ts"
import { nearest } from "../../../base/nearest-name.ts"
import { typedServerAddress } from "../../../base/typed-server-address.ts"
import type { LocalServer } from "../../../llm/local/local-servers.ts"
import type { Provider } from "../../../llm/provider.ts"
import type { Terminal } from "../../../terminal/terminal.ts"
import { CliError } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { VERSION } from "../../version.ts"
import { askOption, askText, type Option } from "./ask-option.ts"
import type { ModelPrompt, PreparedProvider } from "./model-prompt.ts"
import { prepareServer } from "./prepare-server.ts"

/** Asks for provider, key and model, then saves all of it. Until then nothing is stored, except a login that was completed. */
export async function chooseInteractively(prompt: ModelPrompt): Promise<number> {
  const { terminal, home } = prompt
  const prepared = await prepareProvider(prompt)
  const { provider, baseUrl, apiKey } = prepared
  const model = await askModel({ ...prompt, home: prepared.home }, { provider, offered: await prepared.models() })
  if (model.priceWarning !== undefined && (await terminal.confirm(`${model.priceWarning} Use it?`)) !== true) {
    throw new CliError("Nothing was changed.", { exitCode: 1 })
  }
  const choice = { provider, model, baseUrl, fromLocalServer: prepared.isLocal === true }
  const withKey = apiKey === undefined ? choice : { ...choice, apiKey }
  if (prepared.secret !== undefined) await storeKey(prompt, prepared.secret)
  const warnings = valueOrCliError(await saveModelChoice(prepared.home, withKey))
  const path = home.home.display(home.home.file("config.yaml"))
  terminal.line(`Hermes now uses ${model.id} (${provider.id}). Saved in ${path}.`)
  for (const warning of warnings) terminal.errLine(warning)
  return 0
}

async function prepareProvider(prompt: ModelPrompt): Promise<PreparedProvider> {
  for (;;) {
    const prepared = await prepareChosen(prompt, await askProvider(prompt))
    if (prepared !== undefined) return prepared
    // The user can correct an answer, but not the command line.
    if (prompt.from !== undefined) throw new CliError("Nothing was changed.", { exitCode: 1 })
  }
}

export type ChosenProvider =
  | { readonly kind: "local"; readonly server: LocalServer }
  | { readonly kind: "provider"; readonly provider: Provider }
  | { readonly kind: "address"; readonly address: string }

/** Undefined when the server at the address cannot be used; the reason is printed. */
async function prepareChosen(prompt: ModelPrompt, chosen: ChosenProvider): Promise<PreparedProvider | undefined> {
  switch (chosen.kind) {
    case "local":
      return prepareLocal(prompt.home, chosen.server)
    case "provider":
      return await prepare(prompt, chosen.provider)
    case "address":
      return await prepareServer(prompt, chosen.address)
    default:
      return assertNever(chosen)
  }
}

async function askProvider({ home, terminal, signal, from }: ModelPrompt): Promise<ChosenProvider> {
  const given = from === undefined ? undefined : namedProvider(home, from)
  if (given !== undefined) return given
  const { options, current } = await listModelProviders(home, { signal })
  const entries = options.map(providerOption)
  const chosen = await askOption(terminal, entries, {
    what: "Provider",
    ...(current === undefined ? {} : { current }),
    refuse: (text) => (namedProvider(home, text) === undefined ? noProvider(text, entries) : undefined),
  })
  if (chosen.kind === "option") return chosen.value
  const provider = namedProvider(home, chosen.text)
  if (provider !== undefined) return provider
  // The configured provider, which an empty answer selects, is not one of the table.
  throw new CliError(noProvider(chosen.text, entries), { exitCode: 1 })
}

/** A provider of the table, by its name or its address, or a server at any other address. */
export function namedProvider(home: LoadedHome, text: string): ChosenProvider | undefined {
  const address = typedServerAddress(text)
  const provider = findModelProvider((address === undefined ? text : providerAtAddress(home, address)) ?? "")
  if (provider !== undefined) return { kind: "provider", provider }
  return address === undefined ? undefined : { kind: "address", address }
}

function noProvider(typed: string, entries: readonly Option<ChosenProvider>[]): string {
  const close = nearest(
    typed,
    entries.map(({ name }) => name),
  )
  const hint = close === undefined ? "" : ` Did you mean ${close}?`
  return `There is no provider "${typed}".${hint}`
}

function providerOption(option: ModelProviderOption): Option<ChosenProvider> {
  switch (option.kind) {
    case "local": {
      const { name, baseUrl, models } = option.server
      return { name, note: `${baseUrl}, ${counted(models.length, "model")}`, value: option }
    }
    case "provider": {
      const { provider, hasKey } = option
      return { name: provider.id, note: `${provider.name}${hasKey ? " (key set)" : ""}`, value: option }
    }
    default:
      return assertNever(option)
  }
}

function prepareLocal(home: LoadedHome, server: LocalServer): PreparedProvider {
  return { home, ...providerOfLocalServer(server), isLocal: true, models: () => Promise.resolve(server.models) }
}

/** Asks for the key, login or address that the provider still needs. */
async function prepare(prompt: ModelPrompt, provider: Provider): Promise<PreparedProvider> {
  const { terminal } = prompt
  const ready = (home: LoadedHome, secret?: ProviderSecret): PreparedProvider => ({
    home,
    provider,
    baseUrl: undefined,
    ...(secret !== undefined && { secret }),
    models: () => offeredModels({ ...prompt, home }, { provider }),
  })
  const access = providerAccess(prompt.home, provider)
  switch (access.kind) {
    case "needs-address":
      return await prepareConfiguredServer(prompt, provider)
    case "needs-variable":
      throw new CliError(`Nothing was changed: ${access.message}.`, { exitCode: 1 })
    case "ready":
      if (access.keySource !== undefined) terminal.errLine(`Using the key from ${access.keySource}.`)
      return ready(prompt.home)
    case "needs-login":
      await prompt.logIn(provider.id)
      return ready(prompt.home)
    case "needs-key": {
      if (provider.signupUrl !== undefined) terminal.errLine(`Create a key at ${provider.signupUrl}`)
      const key = await askText(terminal, `${access.variable} (not shown): `, { secret: true })
      if (key === "") throw new CliError(`Nothing was changed: ${provider.name} needs a key.`, { exitCode: 1 })
      const secret = { variable: access.variable, key }
      return ready(withProviderKey(prompt.home, secret), secret)
    }
    default:
      return assertNever(access)
  }
}

/** Asks for the address and the key of a server that the user runs. */
async function prepareConfiguredServer(prompt: ModelPrompt, provider: Provider): Promise<PreparedProvider> {
  const baseUrl = await askAddress(prompt)
  const apiKey = await askText(prompt.terminal, "Key (empty for none): ", { secret: true })
  if (apiKey === "") {
    const models = () => offeredModels(prompt, { provider, endpoint: { baseUrl } })
    return { home: prompt.home, provider, baseUrl, models }
  }
  const secret = { variable: serverKeyVariable(provider), key: apiKey }
  const home = withProviderKey(prompt.home, secret)
  const models = () => offeredModels({ ...prompt, home }, { provider, endpoint: { baseUrl, apiKey } })
  return { home, provider, baseUrl, apiKey: `\${${secret.variable}}`, secret, models }
}

async function askAddress({ terminal, home }: ModelPrompt): Promise<string> {
  const current = home.config.get("model.base_url")
  const hint = current === "" ? ", for example http://127.0.0.1:8000/v1" : ` [${current}]`
  for (;;) {
    const typed = (await askText(terminal, `Address${hint}: `)) || current
    const address = parseServerAddress(typed)
    if (address !== undefined) return address
    terminal.errLine(`"${typed}" is not an http(s) address.`)
  }
}

async function storeKey({ home, terminal }: ModelPrompt, secret: ProviderSecret): Promise<void> {
  for (const warning of valueOrCliError(await storeProviderKey(home, secret))) terminal.errLine(`${warning}.`)
}

async function offeredModels(
  { home, terminal, signal }: ModelPrompt,
  source: Pick<Parameters<typeof listOfferedModels>[1], "provider" | "endpoint">,
): Promise<readonly OfferedModel[]> {
  const { models, problem } = await listOfferedModels(home, { ...source, version: VERSION, signal })
  if (problem !== undefined) {
    terminal.errLine(`${source.provider.id} ${problem}; showing what is known without it.`)
  }
  return models
}

async function askModel(
  { terminal, home, model: named }: ModelPrompt,
  { provider, offered }: { readonly provider: Provider; readonly offered: readonly OfferedModel[] },
): Promise<OfferedModel> {
  if (named !== undefined) return useNamed(terminal, named, { provider, offered })
  const [only] = offered
  if (only !== undefined && offered.length === 1) return only
  const options = offered.map((model) => ({ name: model.id, note: modelNote(model), value: model }))
  const current = home.config.get("model.default")
  const keepsCurrent = current !== "" && offered.some(({ id }) => id === current)
  const suggested = keepsCurrent ? current : provider.defaultModel
  const chosen = await askOption(terminal, options, {
    what: "Model",
    ...(suggested === "" ? {} : { current: suggested }),
  })
  if (chosen.kind === "option") return chosen.value
  return useNamed(terminal, chosen.text, { provider, offered })
}

function useNamed(
  terminal: Terminal,
  name: string,
  { provider, offered }: { readonly provider: Provider; readonly offered: readonly OfferedModel[] },
): OfferedModel {
  const { model, isListed } = resolveOfferedModel(name, { provider, offered })
  if (!isListed && offered.length > 0) {
    terminal.errLine(`${provider.name} does not list ${model.id}; Hermes uses it as you typed it.`)
  }
  return model
}

function modelNote({ contextLength, price }: OfferedModel): string {
  return [contextLength === undefined ? "" : `${compactCount(contextLength)} tokens`, price ?? ""]
    .filter((part) => part !== "")
    .join(", ")
}
