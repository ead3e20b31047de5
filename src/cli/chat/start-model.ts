import type { App } from "../../app/app.ts"
import { resolveStartupModel } from "../../app/services/resolve-startup-model.ts"
import type { ChosenModel, ModelChoiceFailure } from "../../llm/choose-model.ts"
import { CliError } from "../command.ts"
import type { Invocation } from "../command.ts"
import type { ChatOptions } from "./chat-options.ts"

const DEMO_NOTICE =
  "No model is configured. Replies come from the demo, which is not an AI. Connect a model with `hermes model`."

const UNUSABLE_NOTICE = "No model is known until that file is repaired. Replies come from the demo, which is not an AI."

export interface StartModel {
  readonly model: ChosenModel
  /** A message that the user typed already; empty if there is none. */
  readonly firstMessage: string
}

interface Start {
  readonly options: ChatOptions
  readonly invocation: Invocation
  /** Files with settings or keys that cannot be used, each as a message. */
  readonly unusableFiles: readonly string[]
}

/**
 * Chooses the configured model, or a model of a local server, or the demo if nothing is configured. "connected": the user has connected
 * a model, so the settings have changed. "left": the user ended Hermes at the question.
 */
export async function chooseStartModel(app: App, start: Start): Promise<StartModel | "connected" | "left"> {
  const { terminal } = start.invocation
  const resolved = await resolveStartupModel(app, {
    ...(start.options.model === undefined ? {} : { model: start.options.model }),
    ...(start.options.provider === undefined ? {} : { provider: start.options.provider }),
  })
  if (!resolved.ok) throw new CliError(`${resolved.error}.`, { exitCode: 1 })
  const chosen = app.chooseModel(resolved.value.selection)
  if (!chosen.ok) return { model: await localModel(app, start, chosen.error), firstMessage: "" }
  if (resolved.value.notice !== undefined) terminal.errLine(resolved.value.notice)
  if (!chosen.value.demoByDefault) return { model: chosen.value, firstMessage: "" }
  return await withoutModel(app, start, chosen.value)
}

/** A model without a provider may be one of a local server. Throws the failure otherwise. */
async function localModel(
  app: App,
  { options, invocation: { signal, terminal } }: Start,
  failure: ModelChoiceFailure,
): Promise<ChosenModel> {
  const named = options.model ?? app.config.get("model.default")
  const mayBeLocal = failure.code === "no_provider_configured" && named !== ""
  const local = mayBeLocal ? await app.findLocalModel({ signal, named }) : undefined
  if (local?.kind !== "one") throw new CliError(failure.message, { exitCode: 1 })
  const { model, baseUrl } = local.chosen.runtime
  terminal.errLine(`No provider is configured. Using ${model} of ${local.server} at ${baseUrl}.`)
  return local.chosen
}

/** Nothing is configured: a model of a local server, one that the user connects now, or the demo. */
async function withoutModel(
  app: App,
  { options, invocation, unusableFiles }: Start,
  demo: ChosenModel,
): Promise<StartModel | "connected" | "left"> {
  const { terminal, signal } = invocation
  const isConversation = options.mode === "conversation"
  if (unusableFiles.length > 0) {
    if (!isConversation)
      throw new CliError(`${unusableFiles.join("; ")}; no model is known without it`, { exitCode: 1 })
    terminal.errLine(UNUSABLE_NOTICE)
    return { model: demo, firstMessage: "" }
  }
  const local = await app.findLocalModel({ signal })
  if (local === undefined) {
    const { offerModelSetup } = await import("./offer-model-setup.ts")
    const step = isConversation ? await offerModelSetup(invocation) : { firstMessage: "" }
    if (step === "connected" || step === "left") return step
    terminal.errLine(DEMO_NOTICE)
    return { model: demo, firstMessage: step.firstMessage }
  }
  if (local.kind === "one") {
    const { model, baseUrl } = local.chosen.runtime
    terminal.errLine(`No model is configured. Using ${model} of ${local.server} at ${baseUrl}.`)
    return { model: local.chosen, firstMessage: "" }
  }
  const { askForLocalModel } = await import("./ask-for-local-model.ts")
  return { model: await askForLocalModel(local, isConversation ? terminal : undefined), firstMessage: "" }
}
