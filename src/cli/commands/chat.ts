import type { LogSink } from "../../base/logger.ts"
import type { App } from "../../app/app.ts"
import { startApp } from "../../app/start.ts"
import type { Session } from "../../app/session/session.ts"
import { resolveStartupModel } from "../../app/services/resolve-startup-model.ts"
import type { ChosenModel } from "../../llm/choose-model.ts"
import { isPermissionProfile } from "../../policy/permission-profile.ts"
import type { PermissionProfile } from "../../policy/permission-profile.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { UserInput } from "../../protocol/message.ts"
import { CliError } from "../command.ts"
import type { Invocation } from "../command.ts"
import { readChatOptions } from "../chat/chat-options.ts"
import type { ChatOptions } from "../chat/chat-options.ts"
import type { WorkingDirectory, WorkingDirectoryRequest } from "../../app/session/working-directory.ts"
import { VERSION } from "../version.ts"

const DEFAULT_GRACE_SECONDS = 1.5

/** Runs `hermes`, `hermes chat`, `-q`, `-z` and piped prompts. */
export async function run(invocation: Invocation): Promise<number> {
  const code = await chat(invocation)
  return code === "connected" ? await run(invocation) : code
}

/** Returns the exit code, or "connected" when the user has connected a model first: the chat must start again with the new settings. */
async function chat(invocation: Invocation): Promise<number | "connected"> {
  const { terminal, signal, flags } = invocation
  const options = await readChatOptions(invocation)
  const { app, warnings, environment } = await startApp({
    home: invocation.home,
    environment: invocation.environment,
    version: VERSION,
    extraSinks: flags.has("verbose") ? [stderrSink(invocation)] : [],
  })
  // A second signal ends the process at once, and must not leave its commands running.
  const abandon = (): void => {
    app.abandon()
  }
  process.once("exit", abandon)
  let directory: WorkingDirectory | undefined
  try {
    if (options.mode !== "script") for (const warning of warnings) terminal.errLine(warning)
    checkToolsets(app, options, invocation)
    const start = await chooseStart(app, options, invocation)
    if (start === "connected") return start
    const { model, firstMessage } = start
    const resumed = await sessionToResume(app, options)
    const working = await openChatDirectory(app, { options, resume: resumed, invocation })
    directory = working
    const note = (resume: SessionId | undefined): string | undefined =>
      resume === resumed?.id ? (working.noteForResumed ?? working.note) : working.note
    const open = (resume: SessionId | undefined): Promise<Session> =>
      openChatSession(app, {
        options,
        model,
        resume,
        directory: working,
        note: note(resume),
        attended: isAttended(invocation),
      })
    const session = await open(resumed?.id)
    if (options.mode === "conversation") {
      const { converse } = await import("../chat/conversation.ts")
      return await converse({ app, session, open, terminal, signal, model, images: options.images, firstMessage })
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
    if (directory !== undefined) {
      abandon()
      const notice = await directory.close()
      if (notice !== undefined) terminal.errLine(notice)
    }
    process.off("exit", abandon)
  }
}

const DEMO_NOTICE =
  "No model is configured. Replies come from the demo, which is not an AI. Connect a model with `hermes model`."

/** Chooses the configured model, or else a model of a local server, or else the demo. */
async function chooseStart(app: App, options: ChatOptions, invocation: Invocation): Promise<ChatStart | "connected"> {
  const { terminal, signal } = invocation
  const chosen = await chosenModel(app, options)
  if (!chosen.demoByDefault) return { model: chosen, firstMessage: "" }
  const local = await app.findLocalModel({ signal, named: options.model })
  if (local === undefined) {
    const { offerModelSetup } = await import("../chat/offer-model-setup.ts")
    const step = options.mode === "conversation" ? await offerModelSetup(invocation) : { firstMessage: "" }
    if (step === "connected") return step
    terminal.errLine(DEMO_NOTICE)
    return { model: chosen, firstMessage: step.firstMessage }
  }
  if (local.kind === "one") {
    const { model, baseUrl } = local.chosen.runtime
    terminal.errLine(`No model is configured. Using ${model} of ${local.server} at ${baseUrl}.`)
    return { model: local.chosen, firstMessage: "" }
  }
  const { askForLocalModel } = await import("../chat/ask-for-local-model.ts")
  return {
    model: await askForLocalModel(local, options.mode === "conversation" ? terminal : undefined),
    firstMessage: "",
  }
}

interface ChatStart {
  readonly model: ChosenModel
  /** A message that the user typed already; empty if there is none. */
  readonly firstMessage: string
}

async function chosenModel(app: App, options: ChatOptions): Promise<ChosenModel> {
  const selection = await resolveStartupModel(app, {
    ...(options.model === undefined ? {} : { model: options.model }),
    ...(options.provider === undefined ? {} : { provider: options.provider }),
  })
  if (!selection.ok) throw new CliError(`${selection.error}.`, { exitCode: 1 })
  const chosen = app.chooseModel(selection.value)
  if (!chosen.ok) throw new CliError(chosen.error.message, { exitCode: 1 })
  return chosen.value
}

interface OpenChat {
  readonly options: ChatOptions
  readonly model: ChosenModel
  readonly resume: SessionId | undefined
  readonly directory: WorkingDirectory
  readonly note: string | undefined
  readonly attended: boolean
}

async function openChatSession(app: App, chat: OpenChat): Promise<Session> {
  const { options, model, resume, directory, note, attended } = chat
  const { toolsets } = options
  const session = await app.openSession({
    model,
    cwd: directory.cwd,
    ...(directory.sandboxPaths === undefined ? {} : { sandboxPaths: directory.sandboxPaths }),
    ...(note === undefined ? {} : { workspaceNote: note }),
    origin: { surface: "cli", source: options.source, attended: () => attended },
    permissionProfile: options.permissionProfile ?? configuredProfile(app),
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

async function openChatDirectory(
  app: App,
  {
    options,
    resume,
    invocation: { terminal, signal },
  }: {
    readonly options: ChatOptions
    readonly resume: WorkingDirectoryRequest["resume"]
    readonly invocation: Invocation
  },
): Promise<WorkingDirectory> {
  const opened = await app.openWorkingDirectory({
    cwd: options.cwd,
    isCwdNamed: options.isCwdNamed,
    worktree: options.worktree,
    resume,
    signal,
  })
  if (!opened.ok) throw new CliError(opened.error, { exitCode: 1 })
  const { warnings, hints } = opened.value
  for (const notice of options.mode === "script" ? warnings : [...warnings, ...hints]) terminal.errLine(notice)
  return opened.value
}

/** Warns about unknown toolsets. Throws when none of the named ones exists. */
function checkToolsets(app: App, { toolsets, mode }: ChatOptions, { terminal }: Invocation): void {
  if (toolsets === undefined) return
  const { unknown, anyKnown } = app.toolsetProblem(toolsets)
  if (!anyKnown) throw new CliError(`None of these toolsets exists: ${unknown.join(", ")}.`, { exitCode: 2 })
  if (unknown.length > 0 && mode !== "script")
    terminal.errLine(`There is no toolset ${unknown.join(", ")}; continuing with the others.`)
}

/** Finds the session to continue for `-r`, `-c NAME` and `-c`. Undefined without these flags. */
async function sessionToResume(app: App, options: ChatOptions): Promise<WorkingDirectoryRequest["resume"]> {
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
      : `There is no session "${options.resume}". \`hermes sessions list\` lists the sessions.`,
    { exitCode: 1 },
  )
}

function configuredProfile(app: App): PermissionProfile {
  const named = app.config.get("approvals.profile") ?? ""
  if (isPermissionProfile(named)) return named
  const mode = app.config.get("approvals.mode")
  return PROFILE_OF_MODE[mode] ?? "default"
}

const PROFILE_OF_MODE: Record<string, PermissionProfile> = {
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

/** True when a user can be asked. `-z` and the JSON formats are for programs, even on a terminal. */
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
