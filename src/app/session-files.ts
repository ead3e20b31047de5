import { realpathSync } from "node:fs"

import type { ResultNoteSource } from "../agent/dispatch/result-note.ts"
import type { StartingCall } from "../agent/dispatch/run-tool.ts"
import type { Conversation } from "../agent/conversation.ts"
import { ellipsize } from "../base/text.ts"
import type { Checkpoints } from "../exec/checkpoints/checkpoints.ts"
import type { CheckpointPort } from "../toolkit/ports/checkpoints.ts"
import type { Workspace } from "../exec/workspace.ts"
import { createFileTracker } from "../tools/file/read-tracker.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import type { TodoItem } from "../toolkit/ports/todo.ts"
import type { FileTracker } from "../toolkit/ports/files.ts"
import type { Watcher } from "../exec/watcher/watcher.ts"
import type { LanguageDiagnostics } from "../exec/language-server/language-diagnostics.ts"
import { openDiagnostics } from "./session-diagnostics.ts"
import type { OpenSessionOptions, Shared } from "./session-options.ts"

/** What a session knows about its files, and the way back when a turn has spoiled them. */
export interface SessionFiles {
  readonly tracker: FileTracker
  /** Opened with the first use; undefined where the files are not on this machine. */
  checkpoints(): Promise<Checkpoints | undefined>
  readonly port: (() => Promise<CheckpointPort>) | undefined
  readonly diagnostics: LanguageDiagnostics | undefined
  /** A message of the person begins a turn. Gives what changed outside since the last one. */
  beginTurn(): Promise<string | undefined>
  beforeRun(call: StartingCall): Promise<(() => void) | undefined>
  readonly note: ResultNoteSource
  takeRewind(): number | undefined
  close(): Promise<void>
}

const MAX_REASON_CHARS = 120
const TIDY_MS = 5000

export function openFiles(
  session: {
    readonly taskId: SessionId
    readonly workspace: Workspace
    readonly conversation: Conversation
    readonly options: OpenSessionOptions
    readonly todo: () => readonly TodoItem[]
  },
  shared: Shared,
): SessionFiles {
  const { config, environment, home, clock, log } = shared
  const { workspace, conversation, taskId } = session
  const isLocal = workspace.kind === "local"
  const startedIn = workspace.cwd()
  const saves = session.options.checkpoints ?? config.get("checkpoints.enabled")
  const tracker = createFileTracker({
    taskId,
    registry: shared.files,
    guard: !environment.truthy("HERMES_DISABLE_FILE_STATE_GUARD"),
    workspaceRoot: startedIn,
    places: { profile: home.profile, userHome: home.userHome, hermesHome: home.path, hermesRoot: home.root },
    ...(isLocal ? {} : { scope: `${workspace.kind}:${taskId}` }),
  })
  const watcher = isLocal && config.get("watcher.enabled") ? openWatcher(workspace, tracker, shared) : undefined
  const diagnostics = openDiagnostics(workspace, shared)
  let rewindTo: number | undefined
  let turns = 0
  let opening: Promise<Checkpoints> | undefined

  const open = async (): Promise<Checkpoints> => {
    const [{ createCheckpoints }, { checkpointSettings }] = await Promise.all([
      import("../exec/checkpoints/checkpoints.ts"),
      import("../exec/checkpoints/checkpoint-settings.ts"),
    ])
    const made = createCheckpoints({
      home: home.path,
      userHome: home.userHome,
      startedIn,
      workdir: () => workspace.cwd(),
      sessionId: () => conversation.id,
      path: environment.get("PATH") ?? "",
      settings: { ...checkpointSettings(config), enabled: saves },
      clock,
      log,
      conversation: {
        messages: () => conversation.history,
        todo: session.todo,
        rewind: ({ messageCount }) => {
          rewindTo = messageCount
        },
      },
    })
    made.beginTurn(String(turns))
    return made
  }
  const checkpoints = (): Promise<Checkpoints> => (opening ??= open())

  return {
    tracker,
    checkpoints: async () => (isLocal ? await checkpoints() : undefined),
    port: isLocal ? async () => (await checkpoints()).named : undefined,
    diagnostics,
    beginTurn: async () => {
      turns += 1
      if (opening !== undefined) (await opening).beginTurn(String(turns))
      return (await watcher)?.note()
    },
    beforeRun: async (call) => {
      if (call.tool !== "read_file" && call.tool !== "search_files") tracker.otherCall()
      if (isLocal && saves && (call.access === "write" || call.access === "exec")) {
        const paths = call.subjects.flatMap((subject) => (subject.kind === "path" ? [subject.path] : []))
        await (
          await checkpoints()
        ).beforeChange({
          ...(call.access === "write" && paths.length > 0
            ? { paths: paths.map((path) => workspace.files.resolve(path)) }
            : {}),
          reason: ellipsize(`${call.tool} ${call.preview}`, MAX_REASON_CHARS),
          signal: call.signal,
        })
      }
      return call.access === "exec" ? (await watcher)?.commandStarted(workspace.cwd()) : undefined
    },
    note: async () => (await watcher)?.note(),
    takeRewind: () => {
      const keep = rewindTo
      rewindTo = undefined
      return keep
    },
    close: async () => {
      ;(await watcher)?.close()
      await diagnostics?.close()
      if (opening === undefined) return
      const made = await opening
      await made.tidy(AbortSignal.timeout(TIDY_MS))
      made.close()
    },
  }
}

async function openWatcher(
  workspace: Workspace,
  hooks: FileTracker,
  { config, environment, clock, log }: Shared,
): Promise<Watcher> {
  const { createWatcher } = await import("../exec/watcher/watcher.ts")
  return createWatcher({
    root: realpathSync(workspace.cwd()),
    settings: { include: config.get("watcher.include"), reportAll: config.get("watcher.report_all") },
    hooks,
    clock,
    log,
    path: environment.get("PATH") ?? "",
  })
}
