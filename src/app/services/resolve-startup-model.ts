import { ok, type Result } from "../../base/result.ts"
import { builtInAliases } from "../../llm/catalog/model-names.ts"
import type { ResolvedModelName } from "../../llm/catalog/resolve-model-name.ts"
import type { ChosenModel, ModelSelection } from "../../llm/choose-model.ts"
import type { App } from "../app.ts"

/**
 * Resolves the model named at the start, or the default model, to a full name. Loads the catalogue only for a name that may be an
 * alias, because that slows the start down.
 */
export async function resolveStartupModel(app: App, selection: ModelSelection): Promise<Result<ResolvedModelName>> {
  const defaultModel = app.config.get("model.default")
  const { model } = selection
  const isOther = model !== undefined && model !== defaultModel
  if (!isOther && !builtInAliases().includes(defaultModel.toLowerCase())) return ok({ selection, notice: undefined })
  const { resolveModelOption } = await import("./resolve-model.ts")
  return await resolveModelOption({ model: defaultModel, ...selection }, app)
}

/** For a conversation that is opened although its settings name no model that can be used: the user chooses one there. */
export async function modelWithProblem(problem: string): Promise<ChosenModel> {
  const { noModel } = await import("../../llm/no-model.ts")
  return noModel(problem)
}
