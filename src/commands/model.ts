import { compactCount } from "../base/compact-count.ts"
import type { CatalogModel } from "../llm/catalog/catalog.ts"
import type { ModelWish } from "../llm/choose-model.ts"
import { builtInAliases, parseModelArgument, resolveAlias } from "../llm/catalog/model-names.ts"
import { findProvider } from "../llm/providers.ts"
import type { SlashCommand, SlashContext, SlashOutcome } from "./slash-command.ts"

/** `/model`: what answers here, or go on with another one. */
export const modelCommand: SlashCommand = {
  name: "model",
  help: "show the model, or go on with another one",
  argument: "[NAME] [--provider P] [--global]",
  run: switchOrDescribe,
}

/** On any problem nothing changes. */
async function switchOrDescribe(argument: string, { app, session }: SlashContext): Promise<SlashOutcome> {
  const current = session.facts
  const parsed = parseModelArgument(argument)
  if (!parsed.ok) return say(`${parsed.error}.`)
  const { loadCatalog } = await import("../llm/catalog/catalog.ts")
  const catalog = await loadCatalog()
  const { model, provider: named } = parsed.value
  if (model === undefined && named === undefined) {
    const known = catalog.find(current.provider, current.model)
    return say([`${current.model} (${current.provider})`, ...factLines(known), HOW_TO_CHANGE].join("\n"))
  }
  const provider = findProvider(named ?? current.provider)
  // Not in the table: perhaps an endpoint of the person's own, which only the settings know.
  if (provider === undefined)
    return await goOnWith(
      { provider: named ?? current.provider, ...(model === undefined ? {} : { model }) },
      { app, session, keep: parsed.value.global },
    )
  const wanted = model ?? provider.defaultModel
  const resolved = resolveAlias(wanted, { provider, models: catalog.list(provider.id) }) ?? wanted
  const known = catalog.find(provider.id, resolved)
  if (known === undefined && builtInAliases().includes(wanted.toLowerCase())) {
    return say(`${provider.name} has no model that "${wanted}" stands for.`)
  }
  return await goOnWith(
    { provider: provider.id, model: known?.id ?? resolved },
    { app, session, keep: parsed.value.global },
    known,
  )
}

async function goOnWith(
  wish: ModelWish,
  { app, session, keep }: Pick<SlashContext, "app" | "session"> & { readonly keep: boolean },
  known?: CatalogModel,
): Promise<SlashOutcome> {
  const chosen = app.chooseModel(wish)
  if (!chosen.ok) return say(`${chosen.error.message}.`)
  const switched = await session.switchModel(chosen.value)
  if (!switched.ok) return say(`${switched.error}.`)
  const { runtime } = chosen.value
  const unknown = known === undefined ? " It is not in the catalogue." : ""
  const kept = keep ? await app.rememberModel(runtime) : undefined
  const later =
    kept === undefined ? [] : [kept.ok ? "Later sessions start with it too." : `It could not be kept: ${kept.error}.`]
  return say(
    [`Now ${runtime.model} (${runtime.provider}) answers.${unknown}`, ...later, ...factLines(known)].join("\n"),
  )
}

const HOW_TO_CHANGE = "Change it with /model NAME, and for later sessions with --global or `hermes model`."

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
