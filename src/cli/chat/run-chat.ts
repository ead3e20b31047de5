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
import { homeContext } from "../home-context.ts"
import { findResumedSession } from "./find-resumed-session.ts"
import { chooseStartModel } from "./start-model.ts"
import { refuseUnusableSettings } from "./settings-check.ts"
import { readChatOptions } from "./chat-options.ts"
import type { ChatOptions } from "./chat-options.ts"
import type { WorkingDirectory, WorkingDirectoryRequest } from "../../app/session/working-directory.ts"
import type { SessionChoices } from "../../commands/slash-command.ts"
import type { ChatUi } from "../../tui/chat-ui.ts"
import type { FullUi } from "../../tui/full/full-ui.ts"
import { isFullInterface } from "./choose-interface.ts"
import type { Interface } from "./choose-interface.ts"
import { VERSION } from "../version.ts"

const DEFAULT_GRACE_SECONDS = 1.5

/** The full interface, whose first frame is drawn already. */
export interface DrawnUi {
  readonly full: FullUi
  readonly chosen: Interface
}

/**
 * Runs `hermes`, `hermes chat`, `-q`, `-z` and piped prompts. Returns the exit code, or "connected" when the user has connected a model
 * first: the chat must start again with the new settings.
 */
export async function runChat(invocation: Invocation, drawn?: DrawnUi): Promise<number | "connected"> {
  const options = await readChatOptions(invocation)
  const { terminal, signal, flags } = invocation
  const { app, warnings, safetyWarnings, environment, unusableFiles } = await startApp({
    home: invocation.home,
    environment: invocation.environment,
    version: VERSION,
    extraSinks: flags.has("verbose") ? [stderrSink(invocation)] : [],
    ownCommands: async () => {
      const { SLASH_COMMANDS } = await import("../../commands/slash-table.ts")
      return { slash: commandNames(SLASH_COMMANDS), cli: commandNames(invocation.tree.commands) }
    },
  })
  // A second signal ends the process at once, and must not leave its commands running.
  const abandon = (): void => {
    app.abandon()
  }
  process.once("exit", abandon)
  let directory: WorkingDirectory | undefined
  const full = drawn !== undefined && isFullInterface(drawn.chosen, app.config) ? drawn.full : undefined
  if (full === undefined) drawn?.full.close()
  try {
    refuseUnusableSettings({ app, unusableFiles }, options)
    for (const warning of options.mode === "script" ? safetyWarnings : warnings) terminal.errLine(asSentence(warning))
    checkPermissionProfile(app, options)
    checkToolsets(app, options, invocation)
    const start = await chooseStartModel(app, { options, invocation, unusableFiles, pick: full?.pick })
    if (start === "connected") return start
    if (start === "left") return signal.aborted ? 130 : 0
    const { firstMessage } = start
    let { model } = start
    const resumed = await findResumedSession(app, options)
    const working = await openChatDirectory(app, { options, resume: resumed, invocation })
    directory = working
    if (isAttended(invocation)) await askAboutNewHooks(app, working.cwd, invocation)
    const note = (resume: SessionId | undefined): string | undefined =>
      resume === resumed?.id ? (working.noteForResumed ?? working.note) : working.note
    const open = (resume: SessionId | undefined, choices: SessionChoices = {}): Promise<Session> =>
      openChatSession(app, {
        options,
        choices,
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
      const { converse } = await import("../../tui/conversation/conversation.ts")
      const firstMessages = [options.prompt ?? "", firstMessage].filter((text) => text.trim() !== "")
      const ui = (await full?.converse(app)) ?? (await openLineMode(app, invocation))
      const keepModel = (chosen: ChosenModel): void => {
        model = chosen
      }
      return await converse({ app, session, open, keepModel, ui, signal, images: options.images, firstMessages })
    }
    const { runOneShot } = await import("./one-shot.ts")
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
    for (const text of app.takeCommandNotices()) terminal.errLine(asSentence(text))
    if (directory !== undefined) {
      abandon()
      const notice = await directory.close()
      if (notice !== undefined) terminal.errLine(notice)
    }
    process.off("exit", abandon)
  }
}

async function openLineMode(app: App, { terminal, signal }: Invocation): Promise<ChatUi> {
  const { openLineUi } = await import("../../tui/line-mode/line-ui.ts")
  return openLineUi({ app, terminal, signal })
}

interface OpenChat {
  readonly options: ChatOptions
  readonly choices: SessionChoices
  readonly model: ChosenModel
  readonly resume: SessionId | undefined
  readonly directory: WorkingDirectory
  readonly note: string | undefined
  readonly attended: boolean
}

async function openChatSession(app: App, chat: OpenChat): Promise<Session> {
  const { options, choices, model, resume, directory, note, attended } = chat
  const toolsets = choices.toolsets ?? options.toolsets
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
    ...(choices.personality === undefined ? {} : { personality: choices.personality }),
    ...(options.maxTurns === undefined ? {} : { maxIterations: options.maxTurns }),
    ...(options.systemPromptAppend === undefined ? {} : { ephemeralPrompt: options.systemPromptAppend }),
  })
  if (!session.ok) throw new CliError(session.error, { exitCode: 1 })
  return session.value
}

function commandNames(
  commands: readonly { readonly name: string; readonly aliases?: readonly string[] }[],
): readonly string[] {
  return commands.flatMap(({ name, aliases = [] }) => [name, ...aliases])
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

/** The first use of a hook needs the user's consent. What is not approved is skipped, and the session says so. */
async function askAboutNewHooks({ config }: App, cwd: string, invocation: Invocation): Promise<void> {
  const hasHooks = Object.keys(config.get("hooks")).length > 0 || config.get("hooks_claude_code")
  if (!hasHooks || invocation.environment.truthy("HERMES_SAFE_MODE")) return
  const [{ listHooks }, { askAboutHooks }] = await Promise.all([
    import("../../admin/hooks/hooks.ts"),
    import("../hook-consent.ts"),
  ])
  const { hooks } = await listHooks(homeContext(invocation), cwd)
  await askAboutHooks(hooks, cwd, invocation)
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
  if (!anyKnown)
    throw new CliError(
      `None of these toolsets exists: ${unknown.join(", ")}. \`hermes tools list\` shows those that do.`,
      {
        exitCode: 2,
      },
    )
  if (unknown.length > 0 && mode !== "script")
    terminal.errLine(
      `There is no toolset ${unknown.join(", ")}; continuing with the others. \`hermes tools list\` shows all of them.`,
    )
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
