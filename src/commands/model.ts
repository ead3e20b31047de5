import {
  findModelFacts,
  parseModelWords,
  prepareModelSwitch,
  type ModelFacts,
  type ModelSwitch,
} from "../app/services/prepare-model-switch.ts"
import { compactCount } from "../base/compact-count.ts"
import { asSentence } from "../base/sentence.ts"
import type { PickChoice } from "./choice-list.ts"
import { NOTHING_CHOSEN, reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** `/model`: shows the model of this conversation, or continues with another one. */
export const modelCommand: SlashCommand = {
  name: "model",
  category: "model",
  help: "show the model, or switch to another one",
  argument: "[NAME] [--provider P] [--global] [--refresh]",
  completes: "model",
  run: showOrSwitchModel,
}

/** When anything fails, the model stays the same. */
async function showOrSwitchModel(argument: string, context: SlashContext): Promise<SlashOutcome> {
  const { app, session } = context
  if (argument.trim() === "" && context.pick !== undefined) return await pickModel(context.pick, context)
  const parsed = parseModelWords(argument, app)
  if (!parsed.ok) return reply(asSentence(parsed.error))
  const { model, provider, refresh, global } = parsed.value
  const refreshed = refresh ? [await refreshList(provider, context)] : []
  if (model === undefined && provider === undefined) {
    const { facts } = session
    const known = await findModelFacts(facts.provider, facts.model)
    return reply([`${facts.model} (${facts.provider})`, ...factLines(known), ...refreshed, HOW_TO_CHANGE].join("\n"))
  }
  const lines = await switchTo({ model, provider }, { isDefault: global }, context)
  return reply([...refreshed, ...lines].join("\n"))
}

async function pickModel(pick: PickChoice, context: SlashContext): Promise<SlashOutcome> {
  const { LATER_SESSIONS, modelList } = await import("./lists/model-list.ts")
  const picked = await pick(modelList({ context: context.app, current: context.session.facts }))
  if (picked?.value.kind !== "model") return NOTHING_CHOSEN
  return reply((await switchTo(picked.value, { isDefault: picked.mode === LATER_SESSIONS }, context)).join("\n"))
}

async function switchTo(
  words: { readonly model: string | undefined; readonly provider: string | undefined },
  options: { readonly isDefault: boolean },
  context: SlashContext,
): Promise<readonly string[]> {
  const { app, session, signal } = context
  const prepared = await prepareModelSwitch(words, { app, currentProvider: session.facts.provider, signal })
  // Not capitalised, because it may start with the name of a provider.
  return prepared.ok ? await confirmAndSwitch(prepared.value, options, context) : [`${prepared.error}.`]
}

const HOW_TO_CHANGE = "Switch with /model NAME; add --global, or use `hermes model`, to keep it for later sessions."

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
  { app, session, confirm }: SlashContext,
): Promise<readonly string[]> {
  const { runtime } = chosen
  const formerProvider = session.facts.provider
  const contextTokens = session.context.lastPromptTokens
  if (warnings.price !== undefined && (await confirm?.(`${warnings.price} Use it?`)) === false)
    return ["The model was not changed."]
  const switched = await session.switchModel(chosen)
  if (!switched.ok) return [asSentence(switched.error)]
  const saved = isDefault ? await app.rememberModel(runtime) : undefined
  return [
    `Switched to ${runtime.model} (${runtime.provider}).`,
    contextTokens > 0
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
}

function factLines(facts: ModelFacts | undefined): readonly string[] {
  if (facts === undefined) return []
  const capabilities = [facts.vision ? "images" : "", facts.reasoning ? "reasoning" : ""].filter((text) => text !== "")
  return [
    `context      ${compactCount(facts.contextLength)} tokens, output up to ${compactCount(facts.maxOutput)}`,
    ...(capabilities.length === 0 ? [] : [`supports     ${capabilities.join(", ")}`]),
  ]
}
