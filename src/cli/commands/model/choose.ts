import { explainSystemError } from "../../../base/system-error.ts"
import { compactCount } from "../../../base/compact-count.ts"
import { editConfig, type ConfigEdit } from "../../../config/edit.ts"
import { storeSecret } from "../../../config/dotenv.ts"
import { valueAt } from "../../../config/document/document-tree.ts"
import { withVariables } from "../../../config/environment.ts"
import { smallWindowWarning } from "../../../llm/catalog/context-window.ts"
import { findLocalServers, type LocalServer } from "../../../llm/local/local-servers.ts"
import { modelNameFor, resolveAlias, toolUseWarning } from "../../../llm/catalog/model-names.ts"
import type { Provider } from "../../../llm/provider.ts"
import { CUSTOM_PROVIDER, findProvider, PROVIDERS } from "../../../llm/providers.ts"
import { rememberWindow } from "../../../llm/catalog/window-cache.ts"
import { CliError } from "../../command.ts"
import { granted } from "../../settings-access.ts"
import { counted } from "../../text-layout.ts"
import { askOption, askText, type Option } from "./ask.ts"
import { offeredModels, priceWarning, type OfferedModel } from "./offered-models.ts"
import { reachedAs, type ModelPlace } from "./place.ts"

/** Asks for provider, key and model, then writes all of it. Until then nothing is changed but a key that was typed in. */
export async function chooseInteractively(place: ModelPlace): Promise<number> {
  const { terminal, home } = place
  const seller = await askSeller(place)
  const prepared = seller.kind === "local" ? localPlace(place, seller.server) : await withKey(place, seller.provider)
  const { provider, baseUrl } = prepared
  const model = await askModel(prepared.place, { provider, offered: await prepared.models() })
  const warning = priceWarning(model)
  if (warning !== undefined && (await terminal.confirm(`${warning} Use it? [y/N] `)) !== true) {
    throw new CliError("Nothing was changed.", { exitCode: 1 })
  }
  await save(prepared.place, { provider: provider.id, model: model.id, baseUrl, apiKey: prepared.apiKey })
  if (seller.kind === "local" && model.contextLength !== undefined) remember(place, baseUrl ?? provider.baseUrl, model)
  terminal.line(`Hermes now uses ${model.id} (${provider.id}). It is in ${home.display(home.file("config.yaml"))}.`)
  for (const note of [
    toolUseWarning(model.id),
    model.contextLength === undefined ? undefined : smallWindowWarning(model.contextLength),
  ]) {
    if (note !== undefined) terminal.errLine(note)
  }
  return 0
}

type Seller =
  | { readonly kind: "local"; readonly server: LocalServer }
  | { readonly kind: "provider"; readonly provider: Provider }

interface Prepared {
  /** With the key that was typed in, if one was. */
  readonly place: ModelPlace
  readonly provider: Provider
  readonly baseUrl: string | undefined
  /** What to write as `model.api_key`. */
  readonly apiKey?: string
  readonly models: () => Promise<readonly OfferedModel[]>
}

async function askSeller(place: ModelPlace): Promise<Seller> {
  const { terminal, config, environment, signal } = place
  const servers = (await findLocalServers({ environment, signal })).filter(({ models }) => models.length > 0)
  const options: readonly Option<Seller>[] = [
    ...servers.map((server) => ({
      name: server.name,
      note: `${server.baseUrl}, ${counted(server.models.length, "model")}`,
      value: { kind: "local" as const, server },
    })),
    ...PROVIDERS.filter(({ authType }) => authType !== "external_process").map((provider) => ({
      name: provider.id,
      note: `${provider.name}${reachedAs(place, provider.id)?.key === undefined ? "" : " (key set)"}`,
      value: { kind: "provider" as const, provider },
    })),
  ]
  const named = config.get("model.provider")
  const chosen = await askOption(terminal, options, {
    what: "Provider",
    ...(findProvider(named) === undefined ? {} : { current: named }),
  })
  if (chosen.kind === "option") return chosen.value
  const provider = findProvider(chosen.text)
  if (provider === undefined) throw new CliError(`There is no provider "${chosen.text}".`, { exitCode: 1 })
  return { kind: "provider", provider }
}

function localPlace(place: ModelPlace, server: LocalServer): Prepared {
  const provider = (server.kind === "lmstudio" ? findProvider("lmstudio") : undefined) ?? CUSTOM_PROVIDER
  return {
    place,
    provider,
    baseUrl: server.baseUrl === provider.baseUrl ? undefined : server.baseUrl,
    models: () => Promise.resolve(server.models),
  }
}

/** The provider with a key that can be used; asks for what is missing. */
async function withKey(place: ModelPlace, provider: Provider): Promise<Prepared> {
  if (provider.baseUrl === "") return await ownServer(place, provider)
  const ready = (at: ModelPlace): Prepared => ({
    place: at,
    provider,
    baseUrl: undefined,
    models: () => offeredModels(at, { provider }),
  })
  const reached = reachedAs(place, provider.id)
  const [variable] = provider.keyVariables
  if (reached !== undefined) {
    if (reached.key !== undefined) place.terminal.errLine(`Using the key from ${reached.runtime.credentialSource}.`)
    return ready(place)
  }
  if (variable === undefined) {
    await place.logIn(provider.id)
    return ready(place)
  }
  if (provider.signupUrl !== undefined) place.terminal.errLine(`Keys are made at ${provider.signupUrl}`)
  const key = await askText(place.terminal, `${variable} (not shown): `, { secret: true })
  if (key === "") throw new CliError(`Nothing was changed: ${provider.name} needs a key.`, { exitCode: 1 })
  return ready(await keepKey(place, variable, key))
}

async function ownServer(place: ModelPlace, provider: Provider): Promise<Prepared> {
  const baseUrl = await askAddress(place)
  const key = await askText(place.terminal, "Key (empty for none): ", { secret: true })
  if (key === "") {
    return { place, provider, baseUrl, models: () => offeredModels(place, { provider, endpoint: { baseUrl } }) }
  }
  const variable = provider.keyVariables.find((name) => !SHARED_KEYS.has(name)) ?? CUSTOM_KEY
  const at = await keepKey(place, variable, key)
  return {
    place: at,
    provider,
    baseUrl,
    apiKey: `\${${variable}}`,
    models: () => offeredModels(at, { provider, endpoint: { baseUrl, key } }),
  }
}

/** Where the key of a server of one's own is kept; `model.api_key` names it. */
const CUSTOM_KEY = "CUSTOM_API_KEY"
/** Belongs to a vendor; the key of another server must not take its place. */
const SHARED_KEYS: ReadonlySet<string> = new Set(["OPENAI_API_KEY"])

async function askAddress({ terminal, config }: ModelPlace): Promise<string> {
  const current = config.get("model.base_url")
  const typed = await askText(
    terminal,
    `Address${current === "" ? ", for example http://127.0.0.1:8000/v1" : ` [${current}]`}: `,
  )
  const address = typed === "" ? current : typed
  if (!URL.canParse(address) || !/^https?:\/\/[^/]/.test(address)) {
    throw new CliError(`"${address}" is not an http(s) address. Nothing was changed.`, { exitCode: 1 })
  }
  return address.replace(/\/+$/, "")
}

async function keepKey(place: ModelPlace, name: string, value: string): Promise<ModelPlace> {
  const { home, environment, terminal } = place
  for (const warning of granted(await storeSecret({ home, environment, name, value }))) terminal.errLine(`${warning}.`)
  return { ...place, environment: withVariables(environment, { [name]: value }) }
}

async function askModel(
  { terminal, config }: ModelPlace,
  { provider, offered }: { readonly provider: Provider; readonly offered: readonly OfferedModel[] },
): Promise<OfferedModel> {
  const [only] = offered
  if (only !== undefined && offered.length === 1) return only
  const options = offered.map((model) => ({ name: model.id, note: noteFor(model), value: model }))
  const current = config.get("model.default")
  const keeps = current !== "" && offered.some(({ id }) => id === current)
  const fallback = keeps ? current : provider.defaultModel
  const chosen = await askOption(terminal, options, {
    what: "Model",
    ...(fallback === "" ? {} : { current: fallback }),
  })
  if (chosen.kind === "option") return chosen.value
  const aliased = resolveAlias(chosen.text, { provider, models: offered.map(({ id }) => id) })
  const id = aliased ?? modelNameFor(provider, chosen.text)
  const known = offered.find((model) => model.id === id)
  if (known === undefined && offered.length > 0)
    terminal.errLine(`${provider.name} does not list ${id}; it is taken at your word.`)
  return known ?? { id }
}

function noteFor({ contextLength, price }: OfferedModel): string {
  return [contextLength === undefined ? "" : `${compactCount(contextLength)} tokens`, price ?? ""]
    .filter((part) => part !== "")
    .join(", ")
}

/** All settings at once; what belonged to another provider goes. */
async function save(
  { home, environment, config }: ModelPlace,
  chosen: {
    readonly provider: string
    readonly model: string
    readonly baseUrl: string | undefined
    readonly apiKey: string | undefined
  },
): Promise<void> {
  const written = config.user()
  const values: Readonly<Record<string, string | undefined>> = {
    "model.provider": chosen.provider,
    "model.default": chosen.model,
    "model.base_url": chosen.baseUrl,
    "model.api_key": chosen.apiKey,
    "model.api_mode": undefined,
    "model.context_length": undefined,
  }
  const edits = Object.entries(values).flatMap(([path, value]): ConfigEdit[] => {
    if (value !== undefined) return [{ path, value }]
    return valueAt(written, path) === undefined ? [] : [{ path, remove: true }]
  })
  granted(await editConfig({ home, environment }, edits))
}

/** What the server said about its window is known at the next start, too. */
function remember({ home, terminal }: ModelPlace, baseUrl: string, model: OfferedModel): void {
  if (model.contextLength === undefined) return
  try {
    rememberWindow(home, { model: model.id, baseUrl, tokens: model.contextLength })
  } catch (cause) {
    terminal.errLine(`The context window could not be kept: ${explainSystemError(cause)}.`)
  }
}
