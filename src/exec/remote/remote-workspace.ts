import { posix } from "node:path"

import { orAborted } from "../../base/abort.ts"
import type { Clock } from "../../base/clock.ts"
import type { Logger } from "../../base/logger.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { outputOnceStarted } from "../live-output.ts"
import { spawnProgram } from "../run-program.ts"
import { createRemoteResults } from "../result-files.ts"
import { createShellFiles } from "../shell-files.ts"
import type { RunningCommand, RunCommandOptions, Workspace, WorkspaceKind } from "../workspace.ts"
import { createFileSync } from "./file-sync.ts"
import type { FileSync } from "./file-sync.ts"
import { killAllArguments, killAllRemoteCommands } from "./kill-remote.ts"
import { KILL_SCRIPT } from "./process-scripts.ts"
import { startRemoteBackground } from "./remote-background.ts"
import { runRemoteCommand } from "./remote-command.ts"
import { createRemoteShellState } from "./remote-shell-state.ts"
import type { SyncedPaths } from "./synced-files.ts"
import { INLINE_INPUT_BYTES, runScript } from "./transport.ts"
import type { Transport } from "./transport.ts"
import type { RemoteWorkspaceFacts } from "./workspace-facts.ts"

export interface RemoteWorkspaceOptions {
  readonly kind: WorkspaceKind
  readonly isContainer: boolean
  readonly transport: Transport
  readonly facts: RemoteWorkspaceFacts
  readonly cwd: string
  readonly startupFiles?: readonly string[] | undefined
  readonly persistentShell?: boolean | undefined
  /** Keeps parts of the Hermes home in sync with the workspace. */
  readonly sync?: SyncRequest | undefined
  /** Called when the workspace closes, after the last command has ended. Must not reject. */
  readonly release: () => Promise<void>
}

/** Which files to keep in sync with a remote workspace. */
export interface SyncRequest {
  readonly paths: SyncedPaths
  /** Another session of this process uses the workspace too and may need the provided files. */
  readonly isBorrowed: boolean
  readonly clock: Clock
  readonly log: Logger
}

const STARTUP_FILES = ["/etc/profile", "~/.profile", "~/.bash_profile", "~/.bashrc"]
/** Allows for a large file over a slow connection. */
const FILE_OPERATION_TIMEOUT_MS = 180_000
/** A longer first upload continues while commands run. */
const MAX_SYNC_WAIT_MS = 30_000

const RECREATED =
  "The workspace was lost and has been recreated: earlier variables, functions and processes are gone, the directory is the same."

/** A workspace that is reached through a client program on this machine. */
export function createRemoteWorkspace(options: RemoteWorkspaceOptions): Workspace {
  const { facts } = options
  const closing = new AbortController()
  const running = new Set<Promise<unknown>>()
  const name = `hermes${randomHex(6)}`
  const stateDirectory = posix.join(facts.temporary, `hermes-shell-${randomHex(8)}`)
  const maxInputBytes = options.transport.pipesInput ? Number.POSITIVE_INFINITY : INLINE_INPUT_BYTES
  const sync = options.sync === undefined ? undefined : createWorkspaceSync(options.sync, { ...options, maxInputBytes })
  let wasRecreated = false
  const transport: Transport = {
    ...options.transport,
    reopen: async (failure, signal) => {
      const reopened = await options.transport.reopen?.(failure, signal)
      if (reopened?.ok === true && (await state.restore())) wasRecreated = true
      return reopened
    },
  }
  const takeNote = (): string | undefined => {
    const notes = [wasRecreated ? RECREATED : undefined, sync?.takeNote()].filter((note) => note !== undefined)
    wasRecreated = false
    return notes.length === 0 ? undefined : notes.join(" ")
  }
  let commandCount = 0
  const nextTag = (): string => `${name}.${(commandCount += 1)}`
  const state = createRemoteShellState({
    transport: options.transport,
    cwd: options.cwd,
    shell: facts.shell,
    directory: stateDirectory,
    startupFiles: options.startupFiles ?? STARTUP_FILES,
    persistent: options.persistentShell ?? true,
    signal: closing.signal,
  })
  /** Makes `close` wait for the work. Its result or failure goes to the caller that holds the promise. */
  const track = (work: Promise<unknown>): void => {
    const untrack = (): boolean => running.delete(tracked)
    const tracked = work.then(untrack, untrack)
    running.add(tracked)
  }
  const runStateless = (command: string, run: RunCommandOptions): RunningCommand => {
    const tag = nextTag()
    const cwd = run.cwd ?? state.cwd()
    const commandLine = state.stateless(command)
    const handle = runRemoteCommand({ ...run, transport, tag, cwd, orNearest: false, stateDirectory, commandLine })
    track(handle.terminated)
    return handle
  }
  /** A failed or slow upload does not block commands. */
  const uploadFiles = async (signal: AbortSignal): Promise<void> => {
    if (sync !== undefined)
      await orAborted(sync.upload(), AbortSignal.any([signal, AbortSignal.timeout(MAX_SYNC_WAIT_MS)]))
  }
  const runWithState = async (command: string, run: RunCommandOptions) => {
    await Promise.all([state.prepare(), uploadFiles(run.signal)])
    const tag = nextTag()
    const { cwd, commandLine, marker: cwdMarker, finish } = state.beginCommand(command, run.cwd, tag)
    const orNearest = run.cwd === undefined
    const shellOptions = { cwd, orNearest, stateDirectory, commandLine, cwdMarker }
    const handle = runRemoteCommand({ ...run, ...shellOptions, transport, tag })
    track(handle.terminated)
    const exit = handle.exit.then((ended) => {
      // The state of a command that was cut off may be incomplete.
      finish(ended.how === "exited" ? handle.lastDirectory() : undefined)
      const workspaceNote = takeNote()
      return workspaceNote === undefined ? ended : { ...ended, workspaceNote }
    })
    return { output: handle.output, exit }
  }

  const files = createShellFiles({
    cwd: state.cwd,
    home: facts.home,
    maxInputBytes,
    runScript: async (script, args, stdin) => {
      const pending = runScript(
        transport,
        { script, args },
        { stdin, signal: closing.signal, timeoutMs: FILE_OPERATION_TIMEOUT_MS, mayReopen: true },
      )
      track(pending)
      const result = await pending
      if (result.kind === "unreachable") throw new Error(result.error)
      return { failed: result.code !== 0, stdout: result.stdout, stderr: result.stderr }
    },
  })
  return {
    kind: options.kind,
    isContainer: options.isContainer,
    cwd: state.cwd,
    files,
    results: createRemoteResults(files),
    run: (command, run) => {
      const bounded = { ...run, signal: AbortSignal.any([run.signal, closing.signal]) }
      if (run.keepState !== true) return runStateless(command, bounded)
      const starting = runWithState(command, bounded)
      track(starting)
      return { output: outputOnceStarted(starting), exit: starting.then(({ exit }) => exit) }
    },
    start: async (command, { cwd, onOutput }) => {
      await Promise.all([state.prepare(), uploadFiles(closing.signal)])
      const tag = nextTag()
      const base = posix.join(stateDirectory, `background-${tag}`)
      const shellOptions = state.beginBackground(command, cwd, tag)
      const starting = startRemoteBackground({
        ...shellOptions,
        transport,
        tag,
        base,
        onOutput,
        signal: closing.signal,
      })
      track(starting)
      const handle = await starting
      track(handle.exit)
      return handle
    },
    ...(sync === undefined
      ? {}
      : {
          provideFiles: (paths: readonly string[]) => {
            sync.provide(paths)
          },
        }),
    ripgrep: () => Promise.resolve(facts.ripgrep),
    describe: () =>
      Promise.resolve({
        os: facts.os,
        release: facts.release,
        user: facts.user,
        home: facts.home,
        cwd: state.cwd(),
      }),
    close: async () => {
      if (closing.signal.aborted) return
      closing.abort()
      await Promise.allSettled(running)
      if (commandCount > 0) await cleanUp({ transport, name, stateDirectory })
      await sync?.download()
      await options.release()
    },
    abandon: () => {
      sync?.stop()
      if (commandCount === 0) return
      const commandLine = transport.commandLine(KILL_SCRIPT, killAllArguments(name))
      spawnProgram(commandLine, { environment: transport.environment, onOutput: () => undefined }).killAfterGrace()
    },
  }
}

function createWorkspaceSync(
  { paths, isBorrowed, clock, log }: SyncRequest,
  options: Pick<RemoteWorkspaceOptions, "transport" | "facts"> & { readonly maxInputBytes: number },
): FileSync {
  const { transport, facts, maxInputBytes } = options
  return createFileSync({
    paths,
    keepsProvided: isBorrowed,
    clock,
    log,
    maxInputBytes,
    base: posix.join(facts.home, ".hermes"),
    workspaceName: transport.name,
    runScript: async (script, args, { stdin, signal }) => {
      const limits = { signal, timeoutMs: FILE_OPERATION_TIMEOUT_MS, mayReopen: true }
      const result = await runScript(transport, { script, args }, { stdin, ...limits })
      if (result.kind === "unreachable") throw new Error(result.error)
      if (result.code !== 0) throw new Error(result.stderr.trim().split("\n").at(-1) ?? "no error message")
      return result.stdout
    },
  })
}

/** Kills the remaining processes of the session and removes its state files. */
async function cleanUp(session: {
  readonly transport: Transport
  readonly name: string
  readonly stateDirectory: string
}): Promise<void> {
  await killAllRemoteCommands(session.transport, session.name)
  await runScript(
    session.transport,
    { script: `rm -rf -- "$1"`, args: [session.stateDirectory] },
    { signal: new AbortController().signal, timeoutMs: 10_000 },
  )
}
