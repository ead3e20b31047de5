import { compactCount } from "../base/compact-count.ts"
import { isRecord } from "../base/json.ts"
import { nearest } from "../base/nearest.ts"
import { fail, ok, type Result } from "../base/result.ts"
import type { App } from "../app/app.ts"
import { isProvider, typedModel } from "../app/typed-model.ts"
import type { Catalog, CatalogModel } from "../llm/catalog/catalog.ts"
import type { ListedModel } from "../llm/catalog/model-list.ts"
import { parseModelArgument, toolUseWarning, type ModelArgument } from "../llm/catalog/model-names.ts"
import type { ChosenModel, ModelWish } from "../llm/choose-model.ts"
import type { SlashCommand, SlashContext, SlashOutcome } from "./slash-command.ts"

/** `/model`: what answers here, or go on with another one. */
export const modelCommand: SlashCommand = {
  name: "model",
  help: "show the model, or go on with another one",
  argument: "[NAME] [--provider P] [--global] [--refresh]",
  run: switchOrDescribe,
}

/** On any problem nothing changes. */
async function switchOrDescribe(argument: string, context: SlashContext): Promise<SlashOutcome> {
  const parsed = parseModelArgument(argument, (name) => isProvider(name, context.app))
  if (!parsed.ok) return say(`${parsed.error}.`)
  const { model, provider, refresh } = parsed.value
  const { loadCatalog } = await import("../llm/catalog/catalog.ts")
  const catalog = await loadCatalog()
  const fetched = refresh ? [await refreshed(provider, context)] : []
  if (model === undefined && provider === undefined) {
    const { facts } = context.session
    const known = catalog.find(facts.provider, facts.model)
    return say([`${facts.model} (${facts.provider})`, ...factLines(known), ...fetched, HOW_TO_CHANGE].join("\n"))
  }
  const wish = await wishOf(parsed.value, context)
  if (!wish.ok) return say([...fetched, `${wish.error}.`].join("\n"))
  const chosen = await choose(wish.value, catalog, context)
  if (!chosen.ok) return say([...fetched, `${chosen.error}.`].join("\n"))
  return say([...fetched, ...(await goOnWith(chosen.value, parsed.value, context))].join("\n"))
}

const HOW_TO_CHANGE = "Change it with /model NAME, and for later sessions with --global or `hermes model`."

async function refreshed(named: string | undefined, { app, session, signal }: SlashContext): Promise<string> {
  const provider = named ?? session.facts.provider
  const chosen = app.chooseModel({ provider, model: session.facts.model })
  if (!chosen.ok) return `${chosen.error.message}.`
  const listed = await app.refreshModels(chosen.value, signal)
  return listed.ok ? `${provider} lists ${counted(listed.value.length)}.` : `${provider} ${listed.error}.`
}

function counted(models: number): string {
  return models === 1 ? "one model" : `${models} models`
}

/** What the words mean; an endpoint that was named without a model is asked for the one it has. */
async function wishOf(words: ModelArgument, context: SlashContext): Promise<Result<ModelWish>> {
  const meant = await typedModel(words, { current: context.session.facts.provider, app: context.app })
  if (!meant.ok || meant.value.model !== undefined) return meant
  const only = await onlyModel(meant.value.provider ?? "", context)
  return only.ok ? ok({ ...meant.value, model: only.value }) : only
}

async function onlyModel(provider: string, { app, signal }: SlashContext): Promise<Result<string>> {
  const own = app.config.lookup(`providers.${provider.replace(/^custom:/i, "")}`)
  const usual = isRecord(own) ? (own["default_model"] ?? own["model"]) : undefined
  if (typeof usual === "string" && usual !== "") return ok(usual)
  const chosen = app.chooseModel({ provider, model: "any" })
  if (!chosen.ok) return fail(chosen.error.message)
  const listed = await app.refreshModels(chosen.value, signal)
  if (!listed.ok) return fail(`${provider} ${listed.error}; name a model too`)
  const [first, ...others] = listed.value
  if (first === undefined) return fail(`${provider} has no models`)
  return others.length === 0
    ? ok(first.id)
    : fail(`${provider} has several models, name one: ${shortList(listed.value)}`)
}

const MAX_LISTED = 12

function shortList(models: readonly ListedModel[]): string {
  const names = models.slice(0, MAX_LISTED).map(({ id }) => id)
  const more = models.length - names.length
  return more > 0 ? `${names.join(", ")} and ${more} more` : names.join(", ")
}

interface Choice {
  readonly chosen: ChosenModel
  readonly catalog: Catalog
  readonly known: CatalogModel | undefined
  /** Nobody lists it, but nobody could be asked either. */
  readonly doubt: string | undefined
}

async function choose(wish: ModelWish, catalog: Catalog, context: SlashContext): Promise<Result<Choice>> {
  const chosen = context.app.chooseModel(wish)
  if (!chosen.ok) {
    const fix = chosen.error.code === "missing_key" ? "; `hermes model` asks for it" : ""
    return fail(`${chosen.error.message}${fix}`)
  }
  const { runtime } = chosen.value
  const known = catalog.find(runtime.provider, runtime.model)
  const doubt = known === undefined ? await doubtAbout(chosen.value, catalog, context) : ok(undefined)
  return doubt.ok ? ok({ chosen: chosen.value, catalog, known, doubt: doubt.value }) : doubt
}

/** A name that the catalogue does not have: the endpoint's own list decides, where there is one. */
async function doubtAbout(
  chosen: ChosenModel,
  catalog: Catalog,
  { app, signal }: SlashContext,
): Promise<Result<string | undefined>> {
  const { runtime } = chosen
  const { findListedModel } = await import("../llm/catalog/list-cache.ts")
  if (isDeclared(runtime, app) || findListedModel(app.home, runtime) !== undefined) return ok(undefined)
  const listed = await app.refreshModels(chosen, signal)
  if (!listed.ok) {
    return ok(`It is not in the catalogue${closestIn(catalog.list(runtime.provider), runtime.model)}.`)
  }
  const names = listed.value.map(({ id }) => id)
  // Ollama adds a tag to a name without one.
  if (names.includes(runtime.model) || names.includes(`${runtime.model}:latest`)) return ok(undefined)
  const instead = closestIn(names, runtime.model) || (names.length === 0 ? "" : `; it has ${shortList(listed.value)}`)
  return fail(`${runtime.provider} lists no model "${runtime.model}"${instead}`)
}

const MAX_TYPOS = 4

function closestIn(names: readonly string[], wanted: string): string {
  const close = nearest(wanted, names, MAX_TYPOS)
  return close === undefined ? "" : `; the closest name there is ${close}`
}

/** What the person has written down about an endpoint of their own is taken at their word. */
function isDeclared({ provider, model }: ChosenModel["runtime"], { config }: App): boolean {
  const models = config.lookup(`providers.${provider}.models`)
  if (Array.isArray(models))
    return models.some((entry) => entry === model || (isRecord(entry) && entry["id"] === model))
  return isRecord(models) && Object.hasOwn(models, model)
}

async function goOnWith(choice: Choice, words: ModelArgument, context: SlashContext): Promise<readonly string[]> {
  const { app, session } = context
  const { runtime } = choice.chosen
  const price = await priceOf(choice, app)
  const spent = session.context.lastPromptTokens
  if (price !== undefined && (await context.confirm?.(`${price} Use it?`)) === false) return ["Nothing was changed."]
  const switched = await session.switchModel(choice.chosen)
  if (!switched.ok) return [`${switched.error}.`]
  const kept = words.global ? await app.rememberModel(runtime) : undefined
  return [
    `Now ${runtime.model} (${runtime.provider}) answers.`,
    spent > 0
      ? `It has nothing of this conversation in its prompt cache yet: the next request counts all ${compactCount(spent)} tokens anew.`
      : undefined,
    choice.doubt,
    kept === undefined
      ? undefined
      : kept.ok
        ? "Later sessions start with it too."
        : `It could not be kept: ${kept.error}.`,
    // Who could say no has said yes.
    context.confirm === undefined ? price : undefined,
    toolUseWarning(runtime.model),
    ...factLines(choice.known),
  ].filter((line) => line !== undefined)
}

async function priceOf({ chosen, catalog }: Choice, app: App): Promise<string | undefined> {
  const { runtime } = chosen
  if (runtime.billingMode !== "metered") return undefined
  const [{ priceWarning }, { findPrices }, { findListedModel }] = await Promise.all([
    import("../llm/catalog/price-warning.ts"),
    import("../llm/catalog/find-prices.ts"),
    import("../llm/catalog/list-cache.ts"),
  ])
  const listed = findListedModel(app.home, runtime)?.prices
  return priceWarning(runtime.model, findPrices({ ...runtime, listed }, catalog))
}

function factLines(known: CatalogModel | undefined): readonly string[] {
  if (known === undefined) return []
  const abilities = [known.vision ? "sees images" : "", known.reasoning ? "thinks" : ""].filter((text) => text !== "")
  return [
    `context      ${compactCount(known.contextLength)} tokens, answers up to ${compactCount(known.maxOutput)}`,
    ...(abilities.length === 0 ? [] : [`abilities    ${abilities.join(", ")}`]),
  ]
}

function say(text: string): SlashOutcome {
  return { kind: "say", text }
}
