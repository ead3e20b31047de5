import { closeSync, constants, existsSync, fstatSync, openSync, readSync, realpathSync, rmSync } from "node:fs"
import { dirname } from "node:path"

import { orAborted } from "../../base/abort.ts"
import { ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { closingPrefix } from "./inherited-descriptors.ts"
import { runLocalCommand } from "./local-command.ts"
import type { LocalShell } from "./local-command.ts"
import { COMMAND_VARIABLE } from "../process-tree.ts"
import { createStateFiles } from "../shell-state-files.ts"
import { readStateDirectory, snapshotScript, statefulScript } from "../shell-state.ts"
import { makeMemoryDirectory, removeMemoryDirectory } from "./memory-directory.ts"

const SNAPSHOT_TIMEOUT_MS = 30_000

export interface LocalShellStateOptions {
  readonly cwd: string
  readonly shell: string
  readonly environment: Readonly<Record<string, string>>
  /** Sourced once, before the first command of the conversation. */
  readonly startupFiles: readonly string[]
  /** Patterns of the variables that these files may add. */
  readonly startupVariables: readonly string[]
  /** False: every command starts from the same state and directory. */
  readonly persistent: boolean
  /** Asked once, before the first command. Undefined: commands run without walls. */
  readonly openSandbox: OpenSandbox | undefined
  /** Called when the start-up files begin to be read: time in which something else can be got ready. */
  readonly onPreparing: () => Promise<void>
  /** Ends everything that still runs. */
  readonly signal: AbortSignal
}

/** The program, with its arguments, that starts a shell; it must let `stateDirectory` be written. */
export type SandboxPrefix = (place: {
  readonly cwd: string
  readonly stateDirectory: string
  /** The command has a terminal of its own and keeps it. */
  readonly hasTerminal: boolean
}) => readonly string[]

/** Does something in the sandbox and says whether it was done. */
export type SandboxTrial = (prefix: SandboxPrefix) => Promise<boolean>

/** Fails with a sentence when commands must have walls and cannot. */
export type OpenSandbox = (options: {
  readonly trial: SandboxTrial | undefined
  readonly signal: AbortSignal
}) => Promise<Result<SandboxPrefix | undefined>>

/** What one command of the conversation runs in, beside its walls. */
export interface StateOfCommand extends Omit<LocalShell, "prefix"> {
  /** For a shell that waits for it. */
  readonly preparedScript: (commandId: string) => string
  /** The directory it was meant to run in is gone. */
  readonly note: string | undefined
  /** To be called once, when the command has ended: takes over the state and the directory it left. */
  readonly finish: () => void
}

interface Streams {
  readonly hasTerminal: boolean
  readonly keepsErrorsApart: boolean
}

/** The directory, variables, functions and aliases of the conversation, on this machine. */
export function createLocalShellState(options: LocalShellStateOptions) {
  let cwd = options.cwd
  let directory: string | undefined
  let ready: Promise<unknown> | undefined
  const kind = options.shell.endsWith("/bash") ? "bash" : "sh"
  const stateDirectory = (): string => (directory ??= makeMemoryDirectory("shell"))
  let prefix: SandboxPrefix | undefined
  let walls: Promise<Result<undefined>> | undefined
  let isTried = false
  const raiseWalls = async (trial: SandboxTrial | undefined): Promise<Result<undefined>> => {
    const opened = (await options.openSandbox?.({ trial, signal: options.signal })) ?? ok(undefined)
    prefix = opened.ok ? opened.value : undefined
    // Start-up files that did not come to an end inside walls that work would not do so the next time.
    if (isTried && prefix !== undefined) ready = Promise.resolve()
    return opened.ok ? ok(undefined) : opened
  }
  /** Where the start-up files can be read inside the walls, walls work. */
  const trySnapshot: SandboxTrial = async (candidate) => {
    isTried = true
    prefix = candidate
    return await takeSnapshot()
  }
  let closing: { readonly words: readonly string[] | undefined } | undefined
  const prefixFor = (place: string, hasTerminal = false): readonly string[] | undefined => {
    closing ??= { words: closingPrefix(options.shell) }
    const wall = prefix?.({ cwd: place, stateDirectory: stateDirectory(), hasTerminal })
    return closing.words === undefined ? wall : [...closing.words, ...(wall ?? [])]
  }
  let files: ReturnType<typeof createStateFiles> | undefined
  const stateFiles = (): ReturnType<typeof createStateFiles> => (files ??= createStateFiles(stateDirectory()))

  const hasSnapshot = kind === "bash" && options.startupFiles.length > 0
  const takeSnapshot = async (): Promise<boolean> => {
    const turn = stateFiles().begin()
    const place = nearestDirectory(cwd)
    const running = runLocalCommand("the start-up files", {
      ...shellOf(place),
      prefix: prefixFor(place),
      script: () =>
        snapshotScript({
          files: options.startupFiles,
          to: turn.to,
          keep: options.startupVariables,
          fixed: fixedVariables(options.environment),
        }),
      timeoutMs: SNAPSHOT_TIMEOUT_MS,
      signal: options.signal,
      keepChars: 1,
    })
    await Promise.all([running.exit, options.onPreparing()])
    const isComplete = reportedDirectory(turn.to) !== undefined
    if (isComplete) turn.adopt()
    turn.release()
    return isComplete
  }
  const prepareOnce = async (): Promise<Result<undefined>> => {
    const opened = await (walls ??= raiseWalls(hasSnapshot ? trySnapshot : undefined))
    if (opened.ok && hasSnapshot && !options.signal.aborted) await (ready ??= takeSnapshot())
    return opened
  }
  const shellOf = (place: string) => ({ cwd: place, shell: options.shell, environment: options.environment })

  return {
    cwd: () => cwd,
    /** Whether commands must wait for `openWalls` first. */
    hasWalls: options.openSandbox !== undefined,
    /** Before the first command. Fails when it must not run. */
    openWalls: (): Promise<Result<undefined>> => (walls ??= raiseWalls(undefined)),
    /** Before a command that starts from the state: also waits for the start-up files. Undefined when the signal came first. */
    prepare: (signal: AbortSignal): Promise<Result<undefined> | undefined> => orAborted(prepareOnce(), signal),
    /** For a command that leaves its state. */
    begin: (command: string, wanted: string | undefined): StateOfCommand => {
      const place = wanted ?? nearestDirectory(cwd)
      const note =
        wanted === undefined && place !== cwd
          ? `The working directory ${cwd} does not exist any more; the command ran in ${place}.`
          : undefined
      if (note !== undefined) cwd = place
      const turn = stateFiles().begin()
      // A pipe that an earlier command has left there would keep this one waiting.
      for (const file of [turn.to, `${turn.to}.cwd`]) rmSync(file, { recursive: true, force: true })
      const to = options.persistent ? { to: turn.to } : {}
      const written = { command, shell: kind, cwd: place, from: turn.from, ...to } as const
      return {
        ...shellOf(place),
        note,
        script: (commandId) => statefulScript({ ...written, variables: { [COMMAND_VARIABLE]: commandId } }),
        preparedScript: (commandId) =>
          statefulScript({ ...written, variables: { [COMMAND_VARIABLE]: commandId }, isPrepared: true }),
        finish: () => {
          const reached = options.persistent ? reportedDirectory(turn.to) : undefined
          if (reached !== undefined) {
            turn.adopt()
            // A directory given for one command is not where the conversation is, unless the command itself moved on.
            if (wanted === undefined || reached !== realDirectory(wanted)) cwd = reached
          }
          turn.release()
        },
      }
    },
    /** For a command beside the conversation: it starts from the state and leaves none. */
    look: (command: string, wanted: string | undefined, { hasTerminal, keepsErrorsApart }: Streams): LocalShell => {
      const place = wanted ?? nearestDirectory(cwd)
      const from = stateFiles().current()
      return {
        ...shellOf(place),
        prefix: prefixFor(place, hasTerminal),
        script: (commandId) =>
          statefulScript({
            command,
            shell: kind,
            cwd: place,
            from,
            variables: { [COMMAND_VARIABLE]: commandId },
            keepsErrorsApart,
          }),
      }
    },
    prefixFor,
    dispose: (): void => {
      if (directory !== undefined) removeMemoryDirectory(directory, Date.now())
    },
  }
}

/** The start-up files must not lead commands to another home than this session's. */
function fixedVariables(environment: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => name === "HOME" || name.startsWith("HERMES_")),
  )
}

/** A command can put there what it likes: a pipe to wait at, a link to somewhere, a file without end. */
function reportedDirectory(stateFile: string): string | undefined {
  let file: number | undefined
  try {
    file = openSync(`${stateFile}.cwd`, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
    const { size } = fstatSync(file)
    return size > MAX_REPORT_BYTES ? undefined : readStateDirectory(readSome(file, size))
  } catch {
    // The command never got so far, or the state was removed behind our back.
    return undefined
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

const MAX_REPORT_BYTES = 16 * 1024

/** The size of what is no file is 0. */
function readSome(file: number, size: number): string {
  const bytes = Buffer.alloc(size)
  return bytes.toString("utf8", 0, readSync(file, bytes))
}

function realDirectory(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    // The command has removed it.
    return path
  }
}

function nearestDirectory(path: string): string {
  let place = path
  while (!existsSync(place) && dirname(place) !== place) place = dirname(place)
  return place
}
