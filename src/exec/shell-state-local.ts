import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

import { orAborted } from "../base/abort.ts"
import { ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"
import { runLocalCommand } from "./local-command.ts"
import type { LocalShell } from "./local-command.ts"
import { COMMAND_VARIABLE } from "./process-tree.ts"
import { createStateFiles } from "./shell-state-files.ts"
import { readStateDirectory, snapshotScript, statefulScript } from "./shell-state.ts"

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

/** Fails with a sentence when commands must have walls and cannot. */
export type OpenSandbox = () => Promise<Result<SandboxPrefix | undefined>>

/** What one command of the conversation runs in. */
export interface StateOfCommand extends LocalShell {
  /** The directory it was meant to run in is gone. */
  readonly note: string | undefined
  /** To be called once, when the command has ended: takes over the state and the directory it left. */
  readonly finish: () => void
}

/** The directory, variables, functions and aliases of the conversation, on this machine. */
export function createLocalShellState(options: LocalShellStateOptions) {
  let cwd = options.cwd
  let directory: string | undefined
  let ready: Promise<void> | undefined
  const kind = options.shell.endsWith("/bash") ? "bash" : "sh"
  const stateDirectory = (): string => (directory ??= makeStateDirectory(options.openSandbox !== undefined))
  let prefix: SandboxPrefix | undefined
  let walls: Promise<Result<undefined>> | undefined
  const raiseWalls = async (): Promise<Result<undefined>> => {
    const opened = (await options.openSandbox?.()) ?? ok(undefined)
    if (!opened.ok) return opened
    prefix = opened.value
    return ok(undefined)
  }
  const prefixFor = (place: string, hasTerminal = false): readonly string[] | undefined =>
    prefix?.({ cwd: place, stateDirectory: stateDirectory(), hasTerminal })
  let files: ReturnType<typeof createStateFiles> | undefined
  const stateFiles = (): ReturnType<typeof createStateFiles> => (files ??= createStateFiles(stateDirectory()))

  const takeSnapshot = async (): Promise<void> => {
    if (kind !== "bash" || options.startupFiles.length === 0) return
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
    await running.exit
    if (reportedDirectory(turn.to) !== undefined) turn.adopt()
    turn.release()
  }
  const shellOf = (place: string) => ({ cwd: place, shell: options.shell, environment: options.environment })

  return {
    cwd: () => cwd,
    /** Whether commands must wait for `openWalls` first. */
    hasWalls: options.openSandbox !== undefined,
    /** Before the first command. Fails when it must not run. */
    openWalls: (): Promise<Result<undefined>> => (walls ??= raiseWalls()),
    /** Waits for the start-up files, or for the signal. */
    prepare: async (signal: AbortSignal): Promise<void> => {
      if (!options.signal.aborted) await orAborted((ready ??= takeSnapshot()), signal)
    },
    /** For a command that leaves its state. */
    begin: (command: string, wanted: string | undefined): StateOfCommand => {
      const place = wanted ?? nearestDirectory(cwd)
      const note =
        wanted === undefined && place !== cwd
          ? `The working directory ${cwd} does not exist any more; the command ran in ${place}.`
          : undefined
      if (note !== undefined) cwd = place
      const turn = stateFiles().begin()
      return {
        ...shellOf(place),
        prefix: prefixFor(place),
        note,
        script: (commandId) =>
          statefulScript({
            command,
            shell: kind,
            cwd: place,
            from: turn.from,
            ...(options.persistent && { to: turn.to }),
            variables: { [COMMAND_VARIABLE]: commandId },
          }),
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
    look: (command: string, wanted: string | undefined, hasTerminal: boolean): LocalShell => {
      const place = wanted ?? nearestDirectory(cwd)
      const from = stateFiles().current()
      return {
        ...shellOf(place),
        prefix: prefixFor(place, hasTerminal),
        script: (commandId) =>
          statefulScript({ command, shell: kind, cwd: place, from, variables: { [COMMAND_VARIABLE]: commandId } }),
      }
    },
    prefixFor,
    dispose: (): void => {
      if (directory !== undefined) rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** In memory where the system has such a place: writing to a disk can take longer than the command. A sandbox has its own. */
function makeStateDirectory(isSandboxed: boolean): string {
  try {
    if (!isSandboxed) return mkdtempSync("/dev/shm/hermes-shell-")
  } catch {
    // There is no such place, or it is not ours to write; the disk will do.
  }
  return mkdtempSync(join(tmpdir(), "hermes-shell-"))
}

/** The start-up files must not lead commands to another home than this session's. */
function fixedVariables(environment: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => name === "HOME" || name.startsWith("HERMES_")),
  )
}

function reportedDirectory(stateFile: string): string | undefined {
  try {
    return readStateDirectory(readFileSync(`${stateFile}.cwd`, "utf8"))
  } catch {
    // The command never got so far, or the state was removed behind our back.
    return undefined
  }
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
