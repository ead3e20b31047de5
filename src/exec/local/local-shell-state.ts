import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { dirname } from "node:path"

import { orAborted } from "../../base/abort.ts"
import { lazy } from "../../base/lazy.ts"
import { ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { COMMAND_VARIABLE } from "../process-tree.ts"
import { createStateFiles } from "../shell-state-files.ts"
import { readStateDirectory, snapshotScript, statefulScript } from "../shell-state.ts"
import { runLocalCommand } from "./local-command.ts"
import type { Confinement } from "../confinement.ts"
import type { LocalShell } from "./local-command.ts"
import type { LocalMachine } from "./local-machine.ts"
import { startupFileVersions } from "./startup-states.ts"

const SNAPSHOT_TIMEOUT_MS = 30_000

export interface LocalShellStateOptions {
  readonly cwd: string
  readonly machine: LocalMachine
  readonly userHome: string
  /** What every conversation on this machine gets. */
  readonly environment: Readonly<Record<string, string>>
  /** Exported by each command in addition, because they belong to this conversation. */
  readonly sessionVariables: Readonly<Record<string, string>>
  /** Sourced once, before the first command of the conversation. */
  readonly startupFiles: readonly string[]
  /** Patterns of the variables that the start-up files may add. */
  readonly startupVariables: readonly string[]
  /** False: every command starts with the same state and directory. */
  readonly persistent: boolean
  /** Called once, before the first command. Undefined: commands run without a sandbox. */
  readonly openSandbox: OpenSandbox | undefined
  /** Called while the start-up files are sourced, so that other preparations can run at the same time. */
  readonly onPreparing: () => Promise<void>
  /** Aborting it ends everything that still runs. */
  readonly signal: AbortSignal
}

/** Returns the sandbox command line that starts a shell. The sandbox must allow writes to `stateDirectory`. */
export type SandboxPrefix = (context: {
  readonly cwd: string
  readonly stateDirectory: string
  /** The command runs in its own pseudo-terminal and must keep it. */
  readonly hasTerminal: boolean
  readonly confinement?: Confinement | undefined
}) => readonly string[]

/** Runs something in the sandbox. Resolves to whether it succeeded. */
export type SandboxTrial = (prefix: SandboxPrefix) => Promise<boolean>

/** Fails with a reason when commands require a sandbox and none is available. Undefined: commands run without one. */
export type OpenSandbox = (options: {
  readonly trial: SandboxTrial | undefined
  readonly signal: AbortSignal
}) => Promise<Result<SandboxPrefix | undefined>>

/** How to run one command of the conversation, apart from its sandbox. */
export interface CommandState extends Omit<LocalShell, "prefix"> {
  /** The script for a prewarmed shell. */
  readonly preparedScript: (commandId: string) => string
  /** Set when the working directory no longer exists. */
  readonly note: string | undefined
  /** Adopts the state and the directory that the command left. Call it once, after the command has ended. */
  readonly finish: () => void
}

interface BackgroundOptions extends PrefixOptions {
  readonly separateStderr: boolean
}

interface PrefixOptions {
  readonly hasTerminal?: boolean
  readonly confinement?: Confinement | undefined
  /** A program instead of a shell: it has a directory and descriptors of its own and does not see the state of the shell. */
  readonly program?: { readonly privateDirectory: string; readonly channels: number }
}

/** Keeps the directory, variables, functions and aliases of the conversation on this machine. */
export function createLocalShellState(options: LocalShellStateOptions) {
  let cwd = options.cwd
  let adoptedStates = 0
  const { machine } = options
  const shellKind = machine.shell.endsWith("/bash") ? "bash" : "sh"
  const stateDirectory = lazy(() => machine.createStateDirectory())
  const stateFiles = lazy(() => createStateFiles(stateDirectory()))
  let sandboxPrefix: SandboxPrefix | undefined
  let sandbox: Promise<Result<undefined>> | undefined
  let snapshot: Promise<unknown> | undefined
  let snapshotWasTried = false
  const startSandbox = async (trial: SandboxTrial | undefined): Promise<Result<undefined>> => {
    const opened = (await options.openSandbox?.({ trial, signal: options.signal })) ?? ok(undefined)
    sandboxPrefix = opened.ok ? opened.value : undefined
    // Start-up files that did not finish in a working sandbox would not finish the next time either.
    if (snapshotWasTried && sandboxPrefix !== undefined) snapshot = Promise.resolve()
    return opened.ok ? ok(undefined) : opened
  }
  /** If the start-up files can be sourced in the sandbox, the sandbox works. */
  const trySnapshot: SandboxTrial = async (candidate) => {
    snapshotWasTried = true
    sandboxPrefix = candidate
    return await takeSnapshot()
  }
  const prefixFor = (
    directory: string,
    { hasTerminal = false, confinement, program }: PrefixOptions = {},
  ): readonly string[] | undefined => {
    const own = program?.privateDirectory ?? stateDirectory()
    const sandboxWords = sandboxPrefix?.({ cwd: directory, stateDirectory: own, hasTerminal, confinement })
    const descriptorWords = machine.descriptorPrefix(program?.channels)
    return descriptorWords === undefined ? sandboxWords : [...descriptorWords, ...(sandboxWords ?? [])]
  }

  const hasSnapshot = shellKind === "bash" && options.startupFiles.length > 0
  const takeSnapshot = async (): Promise<boolean> => {
    const files = stateFiles().begin()
    const directory = nearestDirectory(cwd)
    const prefix = prefixFor(directory)
    let isOwn = false
    const capture = async (): Promise<string | undefined> => {
      isOwn = true
      return await captureState(files.to, { ...shellIn(directory), prefix })
    }
    // All that the state may depend on. The directory of this conversation's state is part of its sandbox only.
    const key = JSON.stringify([
      directory,
      options.environment,
      options.startupVariables,
      startupFileVersions(options.startupFiles, options.userHome),
      prefix?.filter((word) => word !== stateDirectory()),
    ])
    const [state] = await Promise.all([machine.startupStates.get(key, capture), options.onPreparing()])
    if (state !== undefined && !options.signal.aborted) {
      if (!isOwn) writeFileSync(files.to, state)
      files.commit()
    }
    files.release()
    return state !== undefined
  }
  /** Sources the start-up files and returns the state they leave; undefined when they do not finish. */
  const captureState = async (to: string, shell: LocalShell): Promise<string | undefined> => {
    const running = runLocalCommand("the start-up files", {
      ...shell,
      script: () =>
        snapshotScript({
          files: options.startupFiles,
          to,
          keep: options.startupVariables,
          fixed: fixedVariables(options.environment),
        }),
      timeoutMs: SNAPSHOT_TIMEOUT_MS,
      signal: options.signal,
      keepChars: 1,
    })
    await running.exit
    return readReportedDirectory(to) === undefined ? undefined : readReport(to, MAX_STATE_BYTES)
  }
  const prepareOnce = async (): Promise<Result<undefined>> => {
    const opened = await (sandbox ??= startSandbox(hasSnapshot ? trySnapshot : undefined))
    if (opened.ok && hasSnapshot && !options.signal.aborted) await (snapshot ??= takeSnapshot())
    return opened
  }
  const variablesFor = (commandId: string) => ({ ...options.sessionVariables, [COMMAND_VARIABLE]: commandId })
  const shellIn = (directory: string) => ({
    cwd: directory,
    shell: machine.shell,
    environment: options.environment,
  })

  return {
    cwd: () => cwd,
    adoptedStates: () => adoptedStates,
    /** Whether commands run in a sandbox; known after `prepare`. */
    isSandboxed: () => sandboxPrefix !== undefined,
    /** Whether commands must wait for `openSandbox` first. */
    hasSandbox: options.openSandbox !== undefined,
    /** Await it before a command that sees no state. Fails when commands must not run. */
    openSandbox: (): Promise<Result<undefined>> => (sandbox ??= startSandbox(undefined)),
    /** Await it before a command that starts from the state: also sources the start-up files. Undefined after an abort. */
    prepare: (signal: AbortSignal): Promise<Result<undefined> | undefined> => orAborted(prepareOnce(), signal),
    /** For a command that leaves its state to the next one. */
    beginCommand: (command: string, requestedCwd: string | undefined): CommandState => {
      const directory = requestedCwd ?? nearestDirectory(cwd)
      const note =
        requestedCwd === undefined && directory !== cwd
          ? `The working directory ${cwd} no longer exists; the command ran in ${directory}.`
          : undefined
      if (note !== undefined) cwd = directory
      const files = stateFiles().begin()
      // An earlier command may have left a pipe there, which would block this one.
      for (const file of [files.to, `${files.to}.cwd`]) rmSync(file, { recursive: true, force: true })
      const to = options.persistent ? { to: files.to } : {}
      const stateful = { command, shell: shellKind, cwd: directory, from: files.from, ...to } as const
      return {
        ...shellIn(directory),
        note,
        script: (commandId) => statefulScript({ ...stateful, variables: variablesFor(commandId) }),
        preparedScript: (commandId) =>
          statefulScript({ ...stateful, variables: variablesFor(commandId), prepareOnly: true }),
        finish: () => {
          const reached = options.persistent ? readReportedDirectory(files.to) : undefined
          if (reached !== undefined) {
            files.commit()
            adoptedStates += 1
            // A directory requested for one command does not move the conversation, unless the command itself changed it.
            if (requestedCwd === undefined || reached !== resolveDirectory(requestedCwd)) cwd = reached
          }
          files.release()
        },
      }
    },
    /** For a background command: starts from the state and leaves none. */
    beginBackground: (
      command: string,
      requestedCwd: string | undefined,
      { separateStderr, ...prefixOptions }: BackgroundOptions,
    ): LocalShell => {
      const directory = requestedCwd ?? nearestDirectory(cwd)
      const from = stateFiles().current()
      return {
        ...shellIn(directory),
        prefix: prefixFor(directory, prefixOptions),
        script: (commandId) =>
          statefulScript({
            command,
            shell: shellKind,
            cwd: directory,
            from,
            variables: variablesFor(commandId),
            separateStderr,
          }),
      }
    },
    prefixFor,
    dispose: (): void => {
      const directory = stateDirectory.peek()
      if (directory !== undefined) machine.removeStateDirectory(directory)
    },
  }
}

/** Start-up files must not point commands to a home other than this session's. */
function fixedVariables(environment: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => name === "HOME" || name.startsWith("HERMES_")),
  )
}

function readReportedDirectory(stateFile: string): string | undefined {
  const report = readReport(`${stateFile}.cwd`, MAX_REPORT_BYTES)
  return report === undefined ? undefined : readStateDirectory(report)
}

const MAX_REPORT_BYTES = 16 * 1024
const MAX_STATE_BYTES = 16 * 1024 * 1024

/** Reads defensively: a command may have replaced the file with a pipe, a link or a huge file. */
function readReport(path: string, maxBytes: number): string | undefined {
  let file: number | undefined
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
    // The size of anything but a regular file is 0.
    const { size } = fstatSync(file)
    return size > maxBytes ? undefined : readBytes(file, size)
  } catch {
    // The command did not get that far, or another process has removed the state.
    return undefined
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

function readBytes(file: number, size: number): string {
  const bytes = Buffer.alloc(size)
  return bytes.toString("utf8", 0, readSync(file, bytes))
}

function resolveDirectory(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    // The command has removed it.
    return path
  }
}

function nearestDirectory(path: string): string {
  let directory = path
  while (!existsSync(directory) && dirname(directory) !== directory) directory = dirname(directory)
  return directory
}
