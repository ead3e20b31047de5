import { invalid, type AdminFailure } from "../../admin/failure.ts"
import { loadHome, type LoadedHome } from "../../admin/loaded-home.ts"
import { findModelProvider } from "../../admin/models/model-providers.ts"
import { saveModelChoice } from "../../admin/models/save-model-choice.ts"
import { saveServerModel } from "../../admin/models/save-server-model.ts"
import { storeProviderKey, withProviderKey } from "../../admin/models/store-provider-key.ts"
import { ok, type Result } from "../../base/result.ts"
import { asSentence } from "../../base/sentence.ts"
import type { PickChoice } from "../../commands/choice-list.ts"
import { LATER_SESSIONS, type ModelChoice } from "../../commands/lists/model-choice.ts"
import { modelList } from "../../commands/lists/model-list.ts"
import { openServer } from "../../commands/lists/server-list.ts"
import type { Invocation } from "../command.ts"
import { askModel } from "../commands/setup.ts"
import { homeContext } from "../home-context.ts"
import { VERSION } from "../version.ts"

/**
 * Lets a user without a model choose a provider, its key and a model, and saves them. A provider that needs a login asks for it
 * line by line. False when the user has not chosen.
 */
export async function pickFirstModel(invocation: Invocation, pick: PickChoice): Promise<boolean> {
  const context = { ...homeContext(invocation), version: VERSION }
  const list = modelList({ context, current: undefined, keepsChoice: true, picksUnconnected: true })
  const picked = (await pick({ ...list, goesBack: true }))?.value
  if (picked?.kind === "unconnected") return await askModel(invocation, picked.provider.id).then(() => true)
  return picked?.kind === "model" && (await saveAndReport(picked, invocation))
}

/**
 * The same for the server at an address that the user typed. The list to return to shows `problem`, a sentence, if the server cannot be
 * used.
 */
export async function pickServerModel(
  invocation: Invocation,
  pick: PickChoice,
  address: string,
): Promise<{ readonly connected: boolean; readonly problem?: string }> {
  const context = { ...homeContext(invocation), version: VERSION }
  const opened = await openServer(address, { context, mode: LATER_SESSIONS, signal: invocation.signal })
  if (opened.kind === "stay") return { connected: false, problem: opened.note }
  const picked = opened.kind === "open" ? (await pick({ ...opened.list, goesBack: true }))?.value : undefined
  return { connected: picked?.kind === "model" && (await saveAndReport(picked, invocation)) }
}

type ChosenModel = Extract<ModelChoice, { kind: "model" }>

async function saveAndReport(chosen: ChosenModel, invocation: Invocation): Promise<boolean> {
  const { terminal } = invocation
  const saved = await save(chosen, await loadHome(homeContext(invocation)))
  if (saved.ok) for (const warning of saved.value) terminal.errLine(asSentence(warning))
  else terminal.errLine(`The model was not saved: ${asSentence(saved.error.message)}`)
  return saved.ok
}

async function save(
  { secret, server, model: id, provider: name }: ChosenModel,
  home: LoadedHome,
): Promise<Result<readonly string[], AdminFailure>> {
  if (server !== undefined) {
    const { contextLength, ...route } = server
    return await saveServerModel(home, {
      ...route,
      model: contextLength === undefined ? { id } : { id, contextLength },
    })
  }
  const provider = findModelProvider(name ?? "")
  if (provider === undefined) return invalid(`choose a provider first, and then ${id} from its models`)
  const choice = { provider, model: { id }, baseUrl: undefined, fromLocalServer: false }
  if (secret === undefined) return await saveModelChoice(home, choice)
  const stored = await storeProviderKey(home, secret)
  if (!stored.ok) return stored
  const saved = await saveModelChoice(withProviderKey(home, secret), choice)
  return saved.ok ? ok([...stored.value, ...saved.value]) : saved
}
