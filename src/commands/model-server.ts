import { askModelServer, providerAtAddress, type ModelServer } from "../admin/models/model-server.ts"
import { customServerKey } from "../admin/models/store-provider-key.ts"
import { loadHome } from "../admin/loaded-home.ts"
import type { App } from "../app/app.ts"
import type { NamedServer } from "../app/services/prepare-model-switch.ts"
import { fail, ok, type Result } from "../base/result.ts"
import { shortList } from "../base/short-list.ts"
import { LATER_SESSIONS, THIS_SESSION, type ChosenServer, type ModelChoice } from "./lists/model-choice.ts"
import { serverChoice, serverKeyList, serverList } from "./lists/server-list.ts"
import type { SlashContext } from "./slash-command.ts"

type ServerModelChoice =
  | { readonly kind: "model"; readonly value: Extract<ModelChoice, { kind: "model" }>; readonly isDefault: boolean }
  /** The address belongs to this provider, which has keys and settings of its own. */
  | { readonly kind: "provider"; readonly provider: string }
  /** Nothing is chosen; the text says why, and is empty if the user has left the list. */
  | { readonly kind: "text"; readonly text: string }

/** Asks the server at an address for its models, and the user for one of them and for a missing key. */
export async function chooseServerModel(
  { address, model }: { readonly address: string; readonly model: string | undefined },
  { isDefault }: { readonly isDefault: boolean },
  context: SlashContext,
): Promise<ServerModelChoice> {
  const { app, pick } = context
  const provider = providerAtAddress(await loadHome(app), address)
  if (provider !== undefined) return { kind: "provider", provider }
  const reply = await askServer(address, context)
  if (!reply.ok) return { kind: "text", text: reply.error }
  const named = model === undefined ? undefined : findModel(reply.value.server, model)
  if (named !== undefined) return { kind: "model", value: serverChoice(reply.value, named), isDefault }
  const [only, ...others] = reply.value.server.models
  if (only !== undefined && others.length === 0 && model === undefined)
    return { kind: "model", value: serverChoice(reply.value, only), isDefault }
  if (pick !== undefined && model === undefined) {
    const picked = await pick(serverList(reply.value, isDefault ? LATER_SESSIONS : THIS_SESSION))
    if (picked?.value.kind !== "model") return { kind: "text", text: "" }
    return { kind: "model", value: picked.value, isDefault: picked.mode === LATER_SESSIONS }
  }
  const { baseUrl, models } = reply.value.server
  const names = shortList(models.map(({ id }) => id))
  const text =
    model === undefined
      ? `${baseUrl} has these models: ${names}. Use one with /model ${baseUrl} NAME.`
      : `${baseUrl} has no model "${model}". It has ${names}.`
  return { kind: "text", text }
}

/** A typed key is stored only for later sessions: the variable may hold the key of the server in the settings. */
export async function prepareServer(
  { baseUrl, key, contextLength }: ChosenServer,
  { isDefault }: { readonly isDefault: boolean },
  app: App,
): Promise<Result<{ readonly lines: readonly string[]; readonly route: NamedServer }>> {
  const window = contextLength === undefined ? {} : { listedWindow: contextLength }
  if (key === undefined) return ok({ lines: [], route: { baseUrl, ...window } })
  if (!isDefault) {
    app.redactor.addSecrets([key])
    return ok({ lines: [], route: { baseUrl, apiKey: key, ...window } })
  }
  const { storeTypedKey } = await import("./connect-provider.ts")
  const secret = customServerKey(key)
  const stored = await storeTypedKey(secret, app)
  return stored.ok ? ok({ lines: stored.value, route: { baseUrl, keyVariable: secret.variable, ...window } }) : stored
}

async function askServer(
  address: string,
  context: SlashContext,
): Promise<Result<{ readonly server: ModelServer; readonly key?: string }>> {
  const { app, signal } = context
  const home = await loadHome(app)
  const { version } = app
  const reply = await askModelServer(home, address, { version, signal })
  if (reply.kind === "models") return ok({ server: reply.server })
  if (reply.kind === "failed") return fail(reply.message)
  const key = await askForServerKey(reply.message, context)
  if (key === undefined) return fail(`${reply.message} \`hermes model ${address}\` asks for it.`)
  if (key === "") return fail("The model was not changed.")
  app.redactor.addSecrets([key])
  const again = await askModelServer(home, address, { key, version, signal })
  return again.kind === "models" ? ok({ server: again.server, key }) : fail(again.message)
}

/** Undefined where the user cannot be asked, empty when the user has not typed a key. */
async function askForServerKey(message: string, { askSecret, pick, note }: SlashContext): Promise<string | undefined> {
  if (pick !== undefined) {
    const picked = await pick(serverKeyList(message))
    return picked?.value.kind === "key" ? picked.value.key.trim() : ""
  }
  if (askSecret === undefined) return undefined
  note?.(message)
  const key = (await askSecret("Key (not shown, empty to cancel): "))?.trim() ?? ""
  // The user has typed a command.
  return key.startsWith("/") ? "" : key
}

/** Ollama adds a tag to a name without one. */
function findModel({ models }: ModelServer, name: string): ModelServer["models"][number] | undefined {
  return models.find(({ id }) => id === name) ?? models.find(({ id }) => id === `${name}:latest`)
}
