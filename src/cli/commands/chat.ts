import type { LogSink } from "../../base/logger.ts"
import type { App } from "../../app/app.ts"
import { startApp } from "../../app/start.ts"
import type { Session } from "../../app/session.ts"
import { builtInAliases } from "../../llm/catalog/model-names.ts"
import type { ChosenModel, ModelWish } from "../../llm/choose-model.ts"
import { isPermissionProfile } from "../../policy/permission-profile.ts"
import type { PermissionProfile } from "../../policy/permission-profile.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { UserInput } from "../../protocol/message.ts"
import { CliError } from "../command.ts"
import type { Invocation } from "../command.ts"
import { readChatOptions } from "../chat/chat-options.ts"
import type { ChatOptions } from "../chat/chat-options.ts"
import type { ChatPlace, PlaceRequest } from "../chat/chat-place.ts"
import { choosePlace } from "../chat/choose-place.ts"
import { VERSION } from "../version.ts"

const DEFAULT_GRACE_SECONDS = 1.5

/** `hermes`, `hermes chat`, `-q`, `-z` and pipes: one way in for all of them. */
export async function run(invocation: Invocation): Promise<number> {
  const code = await chat(invocation)
  return code === "connected" ? await run(invocation) : code
}

/** "connected": instead of talking to the demo the person has connected a model, so it begins anew with other settings. */
async function chat(invocation: Invocation): Promise<number | "connected"> {
  const { terminal, signal, flags } = invocation
  const options = await readChatOptions(invocation)
  const { app, warnings, environment } = await startApp({
    home: invocation.home,
    environment: invocation.environment,
    version: VERSION,
    extraSinks: flags.has("verbose") ? [stderrSink(invocation)] : [],
  })
  // A second signal ends the process at once; its commands must not go on without it.
  const abandon = (): void => {
    app.abandon()
  }
  process.once("exit", abandon)
  let place: ChatPlace = { cwd: options.cwd }
  try {
    if (options.mode !== "script") for (const warning of warnings) terminal.errLine(warning)
    checkToolsets(app, options, invocation)
    const begun = await modelFor(app, options, invocation)
    if (begun === "connected") return begun
    const { model, words } = begun
    const first = await sessionToResume(app, options)
    place = await choosePlace({ app, options, environment, terminal, signal, resume: first })
    const about = (resume: SessionId | undefined): string | undefined =>
      resume === first?.id ? (place.aboutResumed ?? place.about) : place.about
    const open = (resume: SessionId | undefined): Promise<Session> =>
      openChatSession(app, { options, model, resume, place, about: about(resume), attended: isAttended(invocation) })
    const session = await open(first?.id)
    if (options.mode === "conversation") {
      const { converse } = await import("../chat/conversation.ts")
      return await converse({ app, session, open, terminal, signal, model, images: options.images, words })
    }
    const { runOneShot } = await import("../chat/one-shot.ts")
    const grace = Number(environment.get("HERMES_SIGTERM_GRACE") ?? "")
    const code = await runOneShot(promptOf(options), {
      session,
      terminal,
      mode: options.mode,
      signal,
      version: VERSION,
      deltas: options.deltas,
      graceMs: (grace > 0 ? grace : DEFAULT_GRACE_SECONDS) * 1000,
    })
    await terminal.flush()
    await session.close(code === 130 ? "user_exit" : "completed")
    return code
  } finally {
    await app.close()
    if (place.leave !== undefined) {
      abandon()
      await place.leave()
    }
    process.off("exit", abandon)
  }
}

const DEMO_NOTICE = "No model is configured: the demo model answers, not an AI. Connect one with `hermes model`."

/** What is configured; else a server that runs here; else the demo. */
async function modelFor(app: App, options: ChatOptions, invocation: Invocation): Promise<Begun | "connected"> {
  const { terminal, signal } = invocation
  const chosen = await chosenModel(app, options)
  if (!chosen.demoByDefault) return { model: chosen, words: "" }
  const local = await app.findLocalModel({ signal, named: options.model })
  if (local === undefined) {
    const { takeFirstStep } = await import("../chat/first-steps.ts")
    const step = options.mode === "conversation" ? await takeFirstStep(invocation) : { words: "" }
    if (step === "connected") return step
    terminal.errLine(DEMO_NOTICE)
    return { model: chosen, words: step.words }
  }
  if (local.kind === "one") {
    const { model, baseUrl } = local.chosen.runtime
    terminal.errLine(`No model is configured: ${local.server} at ${baseUrl} answers with ${model}.`)
    return { model: local.chosen, words: "" }
  }
  const { chooseLocalModel } = await import("../chat/choose-local-model.ts")
  return { model: await chooseLocalModel(local, options.mode === "conversation" ? terminal : undefined), words: "" }
}

interface Begun {
  readonly model: ChosenModel
  /** What the person has said already. */
  readonly words: string
}

async function chosenModel(app: App, options: ChatOptions): Promise<ChosenModel> {
  const wish = {
    ...(options.model === undefined ? {} : { model: options.model }),
    ...(options.provider === undefined ? {} : { provider: options.provider }),
  }
  const meant = namesShortly(app, options) ? await modelInWords(app, wish) : wish
  const chosen = app.chooseModel(meant)
  if (!chosen.ok) throw new CliError(chosen.error.message, { exitCode: 1 })
  return chosen.value
}

/** Whether it has to be found out what the name means. That takes the catalogue, so whoever has named nothing goes without. */
function namesShortly({ config }: App, { model }: ChatOptions): boolean {
  const usual = config.get("model.default")
  return model === undefined ? builtInAliases().includes(usual.toLowerCase()) : model !== usual
}

async function modelInWords(app: App, wish: ModelWish): Promise<ModelWish> {
  const { modelNamedAtStart } = await import("../../app/typed-model.ts")
  const meant = await modelNamedAtStart({ model: app.config.get("model.default"), ...wish }, app)
  if (!meant.ok) throw new CliError(`${meant.error}.`, { exitCode: 1 })
  return meant.value
}

interface OpenChat {
  readonly options: ChatOptions
  readonly model: ChosenModel
  readonly resume: SessionId | undefined
  readonly place: ChatPlace
  readonly about: string | undefined
  readonly attended: boolean
}

async function openChatSession(app: App, chat: OpenChat): Promise<Session> {
  const { options, model, resume, place, about, attended } = chat
  const { toolsets } = options
  const session = await app.openSession({
    model,
    cwd: place.cwd,
    ...(place.walls === undefined ? {} : { walls: place.walls }),
    ...(about === undefined ? {} : { aboutPlace: about }),
    source: options.source,
    platform: "cli",
    permissionProfile: options.permissionProfile ?? configuredProfile(app),
    attended,
    passSessionId: options.passSessionId,
    ...(options.checkpoints ? { checkpoints: true } : {}),
    generateTitle: options.mode === "conversation",
    ...(resume === undefined ? {} : { resume }),
    ...(toolsets === undefined ? {} : { toolsets }),
    ...(options.maxTurns === undefined ? {} : { maxIterations: options.maxTurns }),
    ...(options.systemPromptAppend === undefined ? {} : { ephemeralPrompt: options.systemPromptAppend }),
  })
  if (!session.ok) throw new CliError(session.error, { exitCode: 1 })
  return session.value
}

/** A misspelt toolset is told; when nothing is left there is nothing to work with. */
function checkToolsets(app: App, { toolsets, mode }: ChatOptions, { terminal }: Invocation): void {
  if (toolsets === undefined) return
  const { unknown, anyKnown } = app.toolsetProblem(toolsets)
  if (!anyKnown) throw new CliError(`None of these toolsets exists: ${unknown.join(", ")}.`, { exitCode: 2 })
  if (unknown.length > 0 && mode !== "script")
    terminal.errLine(`There is no toolset ${unknown.join(", ")}; the others are used.`)
}

/** `-r`, `-c NAME` and `-c`: which session goes on, if any. */
async function sessionToResume(app: App, options: ChatOptions): Promise<PlaceRequest["resume"]> {
  if (options.resume === undefined && !options.continueLast) return undefined
  const store = await app.store()
  const found =
    options.resume === undefined
      ? await store.latestSession([options.source])
      : await store.resumeTarget(options.resume)
  if (found !== undefined) return { id: found, cwd: (await store.session(found))?.cwd ?? "" }
  throw new CliError(
    options.resume === undefined
      ? "There is no session to continue yet."
      : `There is no session "${options.resume}". \`hermes sessions list\` shows what there is.`,
    { exitCode: 1 },
  )
}

function configuredProfile(app: App): PermissionProfile {
  const named = app.config.get("approvals.profile") ?? ""
  if (isPermissionProfile(named)) return named
  const mode = app.config.get("approvals.mode")
  return MODES[mode] ?? "default"
}

const MODES: Record<string, PermissionProfile> = {
  manual: "default",
  default: "default",
  smart: "auto",
  auto: "auto",
  off: "full-auto",
  false: "full-auto",
  "full-auto": "full-auto",
  plan: "plan",
  "accept-edits": "accept-edits",
}

/** `-z` is for scripts: nobody is asked, even when a terminal happens to be there. */
function isAttended({ terminal, flags }: Invocation): boolean {
  return (
    terminal.stdinIsTty &&
    flags.text("oneshot") === undefined &&
    !["json", "stream-json"].includes(flags.text("output-format") ?? "")
  )
}

function promptOf(options: ChatOptions): UserInput {
  const text = options.prompt ?? ""
  return options.images.length === 0 ? text : [{ type: "text", text }, ...options.images]
}

function stderrSink({ terminal }: Invocation): LogSink {
  return {
    level: "DEBUG",
    write: (line) => {
      terminal.errLine(line)
    },
  }
}
