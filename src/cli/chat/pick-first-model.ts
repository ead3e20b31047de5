import { invalid, type AdminFailure } from "../../admin/failure.ts"
import { loadHome, type LoadedHome } from "../../admin/loaded-home.ts"
import { findModelProvider } from "../../admin/models/model-providers.ts"
import { saveModelChoice } from "../../admin/models/save-model-choice.ts"
import { storeProviderKey, withProviderKey } from "../../admin/models/store-provider-key.ts"
import { ok, type Result } from "../../base/result.ts"
import { asSentence } from "../../base/sentence.ts"
import type { PickChoice } from "../../commands/choice-list.ts"
import { modelList, type ModelChoice } from "../../commands/lists/model-list.ts"
import type { Invocation } from "../command.ts"
import { askModel } from "../commands/setup.ts"
import { homeContext } from "../home-context.ts"
import { VERSION } from "../version.ts"

/**
 * Lets a user without a model choose a provider, its key and a model, and saves them. A provider that needs a login or an address asks
 * for it line by line. False when the user has not chosen.
 */
export async function pickFirstModel(invocation: Invocation, pick: PickChoice): Promise<boolean> {
  const { terminal } = invocation
  const context = { ...homeContext(invocation), version: VERSION }
  const list = modelList({ context, current: undefined, keepsChoice: true, picksUnconnected: true })
  const picked = (await pick({ ...list, goesBack: true }))?.value
  if (picked?.kind === "unconnected") return await askModel(invocation, picked.provider.id).then(() => true)
  if (picked?.kind !== "model") return false
  const saved = await save(picked, await loadHome(context))
  if (saved.ok) for (const warning of saved.value) terminal.errLine(asSentence(warning))
  else terminal.errLine(`The model was not saved: ${asSentence(saved.error.message)}`)
  return saved.ok
}

async function save(
  { secret, model, provider: id }: Extract<ModelChoice, { kind: "model" }>,
  home: LoadedHome,
): Promise<Result<readonly string[], AdminFailure>> {
  const provider = findModelProvider(id ?? "")
  if (provider === undefined) return invalid(`choose a provider first, and then ${model} from its models`)
  const choice = { provider, model: { id: model }, baseUrl: undefined, fromLocalServer: false }
  if (secret === undefined) return await saveModelChoice(home, choice)
  const stored = await storeProviderKey(home, secret)
  if (!stored.ok) return stored
  const saved = await saveModelChoice(withProviderKey(home, secret), choice)
  return saved.ok ? ok([...stored.value, ...saved.value]) : saved
}
