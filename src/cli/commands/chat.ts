import type { LogSink } from "../../base/logger.ts"
import { fail } from "../../base/result.ts"
import { asSentence } from "../../base/sentence.ts"
import type { App } from "../../app/app.ts"
import { startApp } from "../../app/start.ts"
import type { Session } from "../../app/session/session.ts"
import type { ChosenModel } from "../../llm/choose-model.ts"
import { profileNames, unknownProfileText } from "../../policy/permission-profile.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { UserInput } from "../../protocol/message.ts"
import { CliError } from "../command.ts"
import type { Invocation } from "../command.ts"
import { findResumedSession } from "../chat/find-resumed-session.ts"
import { chooseStartModel } from "../chat/start-model.ts"
import { refuseUnusableSettings } from "../chat/settings-check.ts"
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
  const { app, warnings, safetyWarnings, environment, unusableFiles } = await startApp({
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
    refuseUnusableSettings({ app, unusableFiles }, options)
    for (const warning of options.mode === "script" ? safetyWarnings : warnings) terminal.errLine(asSentence(warning))
    checkPermissionProfile(app, options)
    checkToolsets(app, options, invocation)
    const start = await chooseStartModel(app, { options, invocation, unusableFiles })
    if (start === "connected") return start
    if (start === "left") return signal.aborted ? 130 : 0
    const { model, firstMessage } = start
    const resumed = await findResumedSession(app, options)
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
    await preloadSkills(session, options)
    const { movedFrom, cwd } = session.facts
    if (movedFrom !== undefined && options.mode !== "conversation" && options.mode !== "script")
      terminal.errLine(`This conversation was in ${movedFrom} before; it continues in ${cwd}.`)
    if (options.mode === "conversation") {
      const [{ converse }, { openLineUi }] = await Promise.all([
        import("../../tui/conversation/conversation.ts"),
        import("../../tui/line-mode/line-ui.ts"),
      ])
      const firstMessages = [options.prompt ?? "", firstMessage].filter((text) => text.trim() !== "")
      const ui = openLineUi({ app, terminal, signal })
      return await converse({ app, session, open, ui, signal, images: options.images, firstMessages })
    }
    const { runOneShot } = await import("../chat/one-shot.ts")
    const grace = Number(environment.get("HERMES_SIGTERM_GRACE") ?? "")
    const code = await runOneShot(promptOf(options), {
      session,
      config: app.config,
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
    ...(options.permissionProfile === undefined ? {} : { permissionProfile: options.permissionProfile }),
    permissionFlags: options.permissionFlags,
    passSessionId: options.passSessionId,
    ...(options.checkpoints ? { checkpoints: true } : {}),
    ...(options.saveTrajectories ? { saveTrajectories: true } : {}),
    generateTitle: options.mode === "conversation",
    ...(options.mode === "conversation" ? { deliversNotices: true } : {}),
    ...(resume === undefined ? {} : { resume }),
    ...(toolsets === undefined ? {} : { toolsets }),
    ...(options.maxTurns === undefined ? {} : { maxIterations: options.maxTurns }),
    ...(options.systemPromptAppend === undefined ? {} : { ephemeralPrompt: options.systemPromptAppend }),
  })
  if (!session.ok) throw new CliError(session.error, { exitCode: 1 })
  return session.value
}

/** Throws a `CliError` that names all unknown skills. */
async function preloadSkills(session: Session, { skills }: ChatOptions): Promise<void> {
  if (skills.length === 0) return
  const loaded = (await session.skills?.preload(skills)) ?? fail("this session has no skills")
  if (loaded.ok) return
  await session.close("user_exit")
  throw new CliError(asSentence(loaded.error), { exitCode: 1 })
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

function checkPermissionProfile({ config }: App, { permissionProfile }: ChatOptions): void {
  const names = profileNames(config)
  if (permissionProfile !== undefined && !names.includes(permissionProfile))
    throw new CliError(unknownProfileText(permissionProfile, names), { exitCode: 2 })
}

/** Warns about unknown toolsets. Throws when none of the named ones exists. */
function checkToolsets(app: App, { toolsets, mode }: ChatOptions, { terminal }: Invocation): void {
  if (toolsets === undefined) return
  const { unknown, anyKnown } = app.toolsetProblem(toolsets)
  if (!anyKnown) throw new CliError(`None of these toolsets exists: ${unknown.join(", ")}.`, { exitCode: 2 })
  if (unknown.length > 0 && mode !== "script")
    terminal.errLine(`There is no toolset ${unknown.join(", ")}; continuing with the others.`)
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
