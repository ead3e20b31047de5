import { posix } from "node:path"

import { orAborted } from "../../base/abort.ts"
import type { Clock } from "../../base/clock.ts"
import type { Logger } from "../../base/logger.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { createShellFiles } from "../shell-files.ts"
import type { RunningCommand, RunOptions, Workspace, WorkspaceKind } from "../workspace.ts"
import { spawnClient } from "./client-process.ts"
import { endAllArguments, endAllRemotely } from "./end-remotely.ts"
import { createFileSync } from "./file-sync.ts"
import type { FileSync } from "./file-sync.ts"
import type { PlaceFacts } from "./place-facts.ts"
import { KILL_SCRIPT } from "./process-scripts.ts"
import { startRemoteBackground } from "./remote-background.ts"
import { runRemoteCommand } from "./remote-command.ts"
import { createRemoteShellState } from "./remote-shell-state.ts"
import type { SyncedPlaces } from "./synced-files.ts"
import { askScript, INLINE_INPUT_BYTES } from "./transport.ts"
import type { Transport } from "./transport.ts"

export interface RemoteWorkspaceOptions {
  readonly kind: WorkspaceKind
  readonly isContainer: boolean
  readonly transport: Transport
  readonly facts: PlaceFacts
  readonly cwd: string
  readonly startupFiles?: readonly string[] | undefined
  readonly persistentShell?: boolean | undefined
  /** What of the Hermes home is kept the same over there; nothing without it. */
  readonly sync?: SyncRequest | undefined
  /** Called after the last command has ended; gives the place back. Must not reject. */
  readonly release: () => Promise<void>
}

/** What a place is told about keeping files the same. */
export interface SyncRequest {
  readonly places: SyncedPlaces
  readonly clock: Clock
  readonly log: Logger
}

const STARTUP_FILES = ["/etc/profile", "~/.profile", "~/.bash_profile", "~/.bashrc"]
/** A large file over a slow link takes its time, but no operation waits for ever. */
const FILE_OPERATION_MS = 180_000
/** A large first upload goes on while commands run already. */
const MOST_SYNC_WAIT_MS = 30_000

const RENEWED =
  "This place was gone and has been started anew: variables, functions and processes of before are lost, the directory is the same."

/** A place that is reached through a program of this machine. Commands and files are both there. */
export function createRemoteWorkspace(options: RemoteWorkspaceOptions): Workspace {
  const { facts } = options
  const closing = new AbortController()
  const running = new Set<Promise<unknown>>()
  const name = `hermes${randomHex(6)}`
  const stateDirectory = posix.join(facts.temporary, `hermes-shell-${randomHex(8)}`)
  const maxInputBytes = options.transport.pipesInput ? Number.POSITIVE_INFINITY : INLINE_INPUT_BYTES
  const sync = options.sync === undefined ? undefined : fileSyncFor(options.sync, { ...options, maxInputBytes })
  let wasRenewed = false
  const transport: Transport = {
    ...options.transport,
    reopen: async (failure, signal) => {
      const reopened = await options.transport.reopen?.(failure, signal)
      if (reopened?.ok === true && (await state.restore())) wasRenewed = true
      return reopened
    },
  }
  const takeNote = (): string | undefined => {
    const notes = [wasRenewed ? RENEWED : undefined, sync?.takeNote()].filter((note) => note !== undefined)
    wasRenewed = false
    return notes.length === 0 ? undefined : notes.join(" ")
  }
  let count = 0
  const nextTag = (): string => `${name}.${(count += 1)}`
  const state = createRemoteShellState({
    transport: options.transport,
    cwd: options.cwd,
    shell: facts.shell,
    directory: stateDirectory,
    startupFiles: options.startupFiles ?? STARTUP_FILES,
    persistent: options.persistentShell ?? true,
    signal: closing.signal,
  })
  /** Closing waits for it; whoever asked for it hears how it ended. */
  const track = (work: Promise<unknown>): void => {
    const forget = (): boolean => running.delete(tracked)
    const tracked = work.then(forget, forget)
    running.add(tracked)
  }
  const runOnce = (command: string, run: RunOptions): RunningCommand => {
    const tag = nextTag()
    const cwd = run.cwd ?? state.cwd()
    const commandLine = state.plain(command)
    const begun = runRemoteCommand({ ...run, transport, tag, cwd, orNearest: false, stateDirectory, commandLine })
    track(begun.gone)
    return begun
  }
  /** A failure to send files, or one that takes too long, never holds a command up. */
  const sendFiles = async (signal: AbortSignal): Promise<void> => {
    if (sync !== undefined)
      await orAborted(sync.push(), AbortSignal.any([signal, AbortSignal.timeout(MOST_SYNC_WAIT_MS)]))
  }
  const runInState = async (command: string, run: RunOptions) => {
    await Promise.all([state.prepare(), sendFiles(run.signal)])
    const tag = nextTag()
    const begin = state.begin(command, run.cwd, tag)
    const orNearest = run.cwd === undefined
    const { cwd, commandLine, marker: cwdMarker } = begin
    const place = { cwd, orNearest, stateDirectory, commandLine, cwdMarker }
    const begun = runRemoteCommand({ ...run, ...place, transport, tag })
    track(begun.gone)
    const exit = begun.exit.then((ended) => {
      // A command that was cut off may have left a state, but nobody knows which.
      begin.finish(ended.how === "exited" ? begun.lastDirectory() : undefined)
      const placeNote = takeNote()
      return placeNote === undefined ? ended : { ...ended, placeNote }
    })
    return { output: begun.output, exit }
  }

  return {
    kind: options.kind,
    isContainer: options.isContainer,
    cwd: state.cwd,
    files: createShellFiles({
      cwd: state.cwd,
      home: facts.home,
      maxInputBytes,
      ask: async (script, args, stdin) => {
        const call = askScript(
          transport,
          { script, args },
          { stdin, signal: closing.signal, timeoutMs: FILE_OPERATION_MS, mayReopen: true },
        )
        track(call)
        const answer = await call
        if (answer.kind === "unreachable") throw new Error(answer.error)
        return { failed: answer.code !== 0, stdout: answer.stdout, stderr: answer.stderr }
      },
    }),
    run: (command, run) => {
      const bounded = { ...run, signal: AbortSignal.any([run.signal, closing.signal]) }
      if (run.keepState !== true) return runOnce(command, bounded)
      const begun = runInState(command, bounded)
      track(begun)
      return { output: outputOf(begun), exit: begun.then(({ exit }) => exit) }
    },
    start: async (command, { cwd, onOutput }) => {
      await Promise.all([state.prepare(), sendFiles(closing.signal)])
      const tag = nextTag()
      const base = posix.join(stateDirectory, `background-${tag}`)
      const look = state.look(command, cwd, tag)
      const starting = startRemoteBackground({ ...look, transport, tag, base, onOutput, signal: closing.signal })
      track(starting)
      const begun = await starting
      track(begun.exit)
      return begun
    },
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
      if (count > 0) await clearAway({ transport, name, stateDirectory })
      await sync?.pull()
      await options.release()
    },
    abandon: () => {
      sync?.stop()
      if (count === 0) return
      const script = transport.commandLine(KILL_SCRIPT, endAllArguments(name))
      spawnClient(script, { environment: transport.environment, onOutput: noReason }).letGo()
    },
  }
}

function fileSyncFor(
  { places, clock, log }: SyncRequest,
  place: Pick<RemoteWorkspaceOptions, "transport" | "facts"> & { readonly maxInputBytes: number },
): FileSync {
  const { transport, facts, maxInputBytes } = place
  return createFileSync({
    places,
    clock,
    log,
    maxInputBytes,
    base: posix.join(facts.home, ".hermes"),
    placeName: transport.name,
    ask: async (script, args, { stdin, signal }) => {
      const limits = { signal, timeoutMs: FILE_OPERATION_MS, mayReopen: true }
      const answer = await askScript(transport, { script, args }, { stdin, ...limits })
      if (answer.kind === "unreachable") throw new Error(answer.error)
      if (answer.code !== 0) throw new Error(answer.stderr.trim().split("\n").at(-1) ?? "no reason was given")
      return answer.stdout
    },
  })
}

/** Nothing of the session stays: no process, no state file. */
async function clearAway(left: {
  readonly transport: Transport
  readonly name: string
  readonly stateDirectory: string
}): Promise<void> {
  await endAllRemotely(left.transport, left.name)
  await askScript(
    left.transport,
    { script: `rm -rf -- "$1"`, args: [left.stateDirectory] },
    { signal: new AbortController().signal, timeoutMs: 10_000 },
  )
}

/** The output of a command that is still to be started. */
async function* outputOf(command: Promise<RunningCommand>): AsyncGenerator<string, void, void> {
  yield* (await command).output
}

function noReason(): void {
  // Nothing to do: whoever holds the promise itself hears how it ended.
}
