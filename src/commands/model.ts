import {
  findModelFacts,
  parseModelWords,
  prepareModelSwitch,
  type ModelFacts,
  type ModelSwitch,
  type ModelWords,
} from "../app/services/prepare-model-switch.ts"
import type { App } from "../app/app.ts"
import type { Session } from "../app/session/session.ts"
import type { ProviderSecret } from "../admin/models/store-provider-key.ts"
import { compactCount } from "../base/compact-count.ts"
import { isProvider } from "../app/services/resolve-model.ts"
import { assertNever } from "../base/assert-never.ts"
import { ok, type Result } from "../base/result.ts"
import { asSentence } from "../base/sentence.ts"
import type { PickChoice } from "./choice-list.ts"
import type { ModelChoice } from "./lists/model-choice.ts"
import { NOTHING_CHOSEN, reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** `/model`: shows the model of this conversation, or continues with another one. */
export const modelCommand: SlashCommand = {
  name: "model",
  category: "model",
  help: "show the model, or switch to another one",
  argument: "[NAME | PROVIDER | ADDRESS [NAME]] [--provider P] [--global] [--refresh]",
  details:
    "ADDRESS is the base URL of an OpenAI-compatible server, such as Ollama, LM Studio, vLLM or llama.cpp: /model http://localhost:11434/v1",
  completes: "model",
  run: showOrSwitchModel,
}

/** When anything fails, the model stays the same. */
async function showOrSwitchModel(argument: string, context: SlashContext): Promise<SlashOutcome> {
  const { app, session } = context
  if (argument.trim() === "" && context.pick !== undefined) return await pickModel(context.pick, context)
  const parsed = parseModelWords(argument, app)
  if (!parsed.ok) return reply(asSentence(parsed.error))
  const { model, provider, address, refresh, global } = parsed.value
  if (address !== undefined) return await useServer({ address, model, isDefault: global }, context)
  const refreshed = refresh ? [await refreshList(provider, context)] : []
  if (model === undefined && provider === undefined) {
    const { facts } = session
    if (facts.modelProblem !== undefined) return reply([...refreshed, HOW_TO_CONNECT].join("\n"))
    const known = await findModelFacts(facts.provider, facts.model)
    return reply([`${facts.model} (${facts.provider})`, ...factLines(known), ...refreshed, HOW_TO_CHANGE].join("\n"))
  }
  return outcomeOf(refreshed, await switchTo({ model, provider }, { isDefault: global }, context))
}

async function pickModel(pick: PickChoice, context: SlashContext): Promise<SlashOutcome> {
  const { app, session } = context
  const [{ modelList }, { LATER_SESSIONS }] = await Promise.all([
    import("./lists/model-list.ts"),
    import("./lists/model-choice.ts"),
  ])
  const configured = app.chooseModel({})
  const picked = await pick(
    modelList({
      context: app,
      current: session.facts.modelProblem === undefined ? session.facts : undefined,
      // Nothing that works would be replaced.
      keepsChoice: !configured.ok || configured.value.demoByDefault,
    }),
  )
  if (picked?.value.kind !== "model") return NOTHING_CHOSEN
  return await usePicked(picked.value, { isDefault: picked.mode === LATER_SESSIONS }, context)
}

async function usePicked(
  { secret, server, ...words }: Extract<ModelChoice, { kind: "model" }>,
  options: { readonly isDefault: boolean },
  context: SlashContext,
): Promise<SlashOutcome> {
  const stored = secret === undefined ? ok([]) : await storeKey(secret, context.app)
  if (!stored.ok) return reply(stored.error)
  if (server === undefined) return outcomeOf(stored.value, await switchTo(words, options, context))
  const { prepareServer } = await import("./model-server.ts")
  const prepared = await prepareServer(server, options, context.app)
  if (!prepared.ok) return reply(prepared.error)
  const { lines, route } = prepared.value
  return outcomeOf([...stored.value, ...lines], await switchTo({ ...words, server: route }, options, context))
}

/** `/model ADDRESS`: the server is asked for its models, and the user chooses one. */
async function useServer(
  {
    isDefault,
    ...server
  }: { readonly address: string; readonly model: string | undefined; readonly isDefault: boolean },
  context: SlashContext,
): Promise<SlashOutcome> {
  const { chooseServerModel } = await import("./model-server.ts")
  const chosen = await chooseServerModel(server, { isDefault }, context)
  switch (chosen.kind) {
    case "text":
      return reply(chosen.text)
    case "provider":
      return outcomeOf([], await switchTo({ model: server.model, provider: chosen.provider }, { isDefault }, context))
    case "model":
      return await usePicked(chosen.value, { isDefault: chosen.isDefault }, context)
    default:
      return assertNever(chosen)
  }
}

/** The switch or the reason why there is none, as lines; with the session that replaces the one without a model. */
interface SwitchReport {
  readonly lines: readonly string[]
  readonly session?: Session
}

function outcomeOf(before: readonly string[], { lines, session }: SwitchReport): SlashOutcome {
  const text = [...before, ...lines].join("\n")
  return session === undefined ? reply(text) : { kind: "switch", session, text }
}

/** When the key of the provider is missing and the user can be asked for it, it is stored and the switch is tried again. */
async function switchTo(
  words: ModelWords,
  options: { readonly isDefault: boolean },
  context: SlashContext,
): Promise<SwitchReport> {
  const { app, session, signal } = context
  const prepare = async () => {
    const current = session.chosenModel
    const asTyped = await prepareModelSwitch(words, { app, current, signal })
    const provider = asTyped.ok ? undefined : await providerNamed(words, app)
    return provider === undefined
      ? asTyped
      : await prepareModelSwitch({ provider, model: undefined }, { app, current, signal })
  }
  const prepared = await prepare()
  if (prepared.ok) return await confirmAndSwitch(prepared.value, options, context)
  const { message, needsKeyOf } = prepared.error
  // Not capitalised, because it may start with the name of a provider.
  if (needsKeyOf === undefined) return { lines: [`${message}.`] }
  const { askForKey } = await import("./connect-provider.ts")
  const asked = await askForKey(needsKeyOf, context)
  if (asked === undefined) {
    const how = context.pick === undefined ? "run `hermes model`" : "use /model without a name"
    return { lines: [`${message}, or ${how}, which asks for it.`] }
  }
  const stored = asked.ok ? await storeKey(asked.value, app) : asked
  if (!stored.ok) return { lines: [stored.error] }
  const again = await prepare()
  if (!again.ok) return { lines: [...stored.value, `${again.error.message}.`] }
  const { lines, ...report } = await confirmAndSwitch(again.value, options, context)
  return { ...report, lines: [...stored.value, ...lines] }
}

/** `/model deepseek` names a provider. Another name of one, such as `grok`, is also the alias of a model. */
async function providerNamed({ model, provider, server }: ModelWords, app: App): Promise<string | undefined> {
  if (model === undefined || provider !== undefined || server !== undefined || !isProvider(model, app)) return undefined
  const { findModelProvider } = await import("../admin/models/model-providers.ts")
  const id = findModelProvider(model)?.id ?? model
  return id.toLowerCase() === model.toLowerCase() ? id : undefined
}

const HOW_TO_CONNECT =
  "No model is connected. /model PROVIDER connects a provider and asks for its key, for example /model openrouter; /model --provider PROVIDER NAME also chooses the model. /model ADDRESS uses a server of your own, for example /model http://localhost:11434/v1."

async function storeKey(secret: ProviderSecret, app: App): Promise<Result<readonly string[]>> {
  const { storeTypedKey } = await import("./connect-provider.ts")
  return await storeTypedKey(secret, app)
}

const HOW_TO_CHANGE =
  "Switch with /model NAME, or connect a provider with /model PROVIDER or a server of your own with /model ADDRESS; add --global, or use `hermes model`, to keep it for later sessions."

async function refreshList(named: string | undefined, { app, session, signal }: SlashContext): Promise<string> {
  const provider = named ?? session.facts.provider
  const chosen = app.chooseModel({ provider, model: session.facts.model })
  if (!chosen.ok) return `${chosen.error.message}.`
  const listed = await app.refreshModels(chosen.value, signal)
  if (!listed.ok) return `${provider} ${listed.error}.`
  return `${provider} lists ${listed.value.length === 1 ? "one model" : `${listed.value.length} models`}.`
}

async function confirmAndSwitch(
  { chosen, facts, notice, warnings }: ModelSwitch,
  { isDefault }: { readonly isDefault: boolean },
  { app, session, confirm, keepModel, open }: SlashContext,
): Promise<SwitchReport> {
  const { runtime } = chosen
  const formerProvider = session.facts.provider
  const contextTokens = session.context.lastPromptTokens
  if (warnings.price !== undefined && (await confirm?.(`${warnings.price} Use it?`)) === false)
    return { lines: ["The model was not changed."] }
  const { modelProblem } = session.facts
  const switched = await session.switchModel(chosen)
  if (!switched.ok) return { lines: [asSentence(switched.error)] }
  keepModel?.(chosen)
  // The prompt names the model, and nothing was sent with it yet.
  const next = modelProblem === undefined || session.isStored ? undefined : await open(undefined)
  const saved = isDefault ? await app.rememberModel(chosen) : undefined
  const lines = [
    `Switched to ${runtime.model} (${runtime.provider}).`,
    contextTokens > 0 && runtime.billingMode !== "local"
      ? `Its prompt cache is empty, so the next request is billed for all ${compactCount(contextTokens)} tokens of this conversation.`
      : undefined,
    warnings.unlisted,
    saved === undefined
      ? undefined
      : saved.ok
        ? "It is now the default for later sessions."
        : `It could not be saved as the default: ${saved.error}.`,
    // A user who was asked has seen the price.
    confirm === undefined ? warnings.price : undefined,
    warnings.toolUse,
    ...factLines(facts),
    // The first line shows the full name; why another provider answers needs a sentence.
    runtime.provider === formerProvider ? undefined : notice,
  ].filter((line) => line !== undefined)
  return next === undefined ? { lines } : { lines, session: next }
}

function factLines(facts: ModelFacts | undefined): readonly string[] {
  if (facts === undefined) return []
  const capabilities = [facts.vision ? "images" : "", facts.reasoning ? "reasoning" : ""].filter((text) => text !== "")
  return [
    `context      ${compactCount(facts.contextLength)} tokens, output up to ${compactCount(facts.maxOutput)}`,
    ...(capabilities.length === 0 ? [] : [`supports     ${capabilities.join(", ")}`]),
  ]
}
