import type { App } from "../../app/app.ts"
import { modelWithProblem, resolveStartupModel } from "../../app/services/resolve-startup-model.ts"
import { asSentence } from "../../base/sentence.ts"
import type { PickChoice } from "../../commands/choice-list.ts"
import type { ChosenModel, ModelChoiceFailure } from "../../llm/choose-model.ts"
import { CliError } from "../command.ts"
import type { Invocation } from "../command.ts"
import type { ChatOptions } from "./chat-options.ts"

const DEMO_NOTICE = "No model is configured. Replies come from the demo, which is not an AI."

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
  /** Shows lists; undefined where questions are asked line by line. */
  readonly pick: PickChoice | undefined
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
  if (!resolved.ok) return { model: await withProblem(start, resolved.error), firstMessage: "" }
  const chosen = app.chooseModel(resolved.value.selection)
  if (!chosen.ok) return { model: await localModel(app, start, chosen.error), firstMessage: "" }
  if (resolved.value.notice !== undefined) terminal.errLine(resolved.value.notice)
  if (!chosen.value.demoByDefault) return { model: chosen.value, firstMessage: "" }
  return await withoutModel(app, start, chosen.value)
}

/**
 * The settings name a model that cannot be used. At a terminal the conversation opens without one, so that the user can choose another
 * one there. Throws a `CliError` otherwise, and for a model of the command line, which the user can correct there.
 */
async function withProblem({ options, invocation: { terminal } }: Start, problem: string): Promise<ChosenModel> {
  const isNamed = options.model !== undefined || options.provider !== undefined
  if (options.mode !== "conversation" || isNamed || !terminal.stdinIsTty)
    throw new CliError(asSentence(problem), { exitCode: 1 })
  terminal.errLine(asSentence(problem))
  terminal.errLine("Until then no message can be sent. /model connects a provider or chooses another model.")
  return await modelWithProblem(problem)
}

/** A model without a provider may be one of a local server. */
async function localModel(app: App, start: Start, failure: ModelChoiceFailure): Promise<ChosenModel> {
  const { options, invocation } = start
  const { signal, terminal } = invocation
  const named = options.model ?? app.config.get("model.default")
  const mayBeLocal = failure.code === "no_provider_configured" && named !== ""
  const local = mayBeLocal ? await app.findLocalModel({ signal, named }) : undefined
  if (local?.kind !== "one") return await withProblem(start, failure.message)
  const { model, baseUrl } = local.chosen.runtime
  terminal.errLine(`No provider is configured. Using ${model} of ${local.server} at ${baseUrl}.`)
  return local.chosen
}

/** Nothing is configured: a model of a local server, one that the user connects now, or the demo. */
async function withoutModel(
  app: App,
  { options, invocation, unusableFiles, pick }: Start,
  demo: ChosenModel,
): Promise<StartModel | "connected" | "left"> {
  const { terminal, signal } = invocation
  const isConversation = options.mode === "conversation"
  if (unusableFiles.length > 0) {
    if (!isConversation)
      throw new CliError(
        `${unusableFiles.join("; ")}; no model is known without it. Repair the file, or name a model with --provider and --model.`,
        { exitCode: 1 },
      )
    terminal.errLine(UNUSABLE_NOTICE)
    return { model: demo, firstMessage: "" }
  }
  const local = await app.findLocalModel({ signal })
  if (local === undefined) {
    const { offerModelSetup } = await import("./offer-model-setup.ts")
    const step = isConversation ? await offerModelSetup(invocation, pick) : { firstMessage: "" }
    if (step === "connected" || step === "left") return step
    terminal.errLine(`${DEMO_NOTICE} Connect a model with ${isConversation ? "/model" : "`hermes model`"}.`)
    return { model: demo, firstMessage: step.firstMessage }
  }
  if (local.kind === "one") {
    const { model, baseUrl } = local.chosen.runtime
    terminal.errLine(`No model is configured. Using ${model} of ${local.server} at ${baseUrl}.`)
    return { model: local.chosen, firstMessage: "" }
  }
  const { askForLocalModel } = await import("./ask-for-local-model.ts")
  const ask = isConversation ? { terminal, pick } : undefined
  return { model: await askForLocalModel(local, ask), firstMessage: "" }
}
