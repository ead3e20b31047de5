import { accessSync, existsSync } from "node:fs"
import { release, type } from "node:os"

import type { LocalBackground } from "../background/start-local.ts"
import { visibleVariables } from "../command-environment.ts"
import { LiveOutput } from "../live-output.ts"
import { createLocalFiles } from "./local-files.ts"
import type { FileGuard } from "./local-files.ts"
import { runLocalCommand } from "./local-command.ts"
import type { Handover, LocalCommand, LocalShell, WaitingShell } from "./local-command.ts"
import { createLocalShellState } from "./shell-state-local.ts"
import type { OpenSandbox } from "./shell-state-local.ts"
import type { PipeSupply } from "./pipe-supply.ts"
import type { SpareShell } from "./spare-shell.ts"
import type { RunningCommand, RunOptions, Workspace } from "../workspace.ts"

export interface LocalWorkspaceOptions {
  readonly cwd: string
  readonly userHome: string
  /** The complete environment of commands, already filtered. */
  readonly environment: Readonly<Record<string, string>>
  /** The shell's start-up files, sourced once; the usual ones unless told, none when empty. */
  readonly startupFiles?: readonly string[]
  /** Names and patterns of variables that these files may add to the environment. */
  readonly startupVariables?: readonly string[]
  /** False: each command starts in `cwd` with the same variables. Default true. */
  readonly persistentShell?: boolean
  /** Walls for every command. */
  readonly openSandbox?: OpenSandbox
  readonly fileGuard?: FileGuard
}

/** With a good margin. */
const WALLS_TAKE_MS = 20

const STARTUP_FILES = ["/etc/profile", "~/.profile", "~/.bash_profile", "~/.bashrc"]

/** This machine. Each command is a process group of its own; none outlives `close`, nor does what it left in the background. */
export function createLocalWorkspace(options: LocalWorkspaceOptions): Workspace {
  const closing = new AbortController()
  const running = new Set<Promise<unknown>>()
  const started = new Set<LocalCommand>()
  const background = new Set<LocalBackground>()
  const { environment } = options
  const shell = findShell()
  let spare: SpareShell | undefined
  let pipes: PipeSupply | undefined
  const takePipe = () => pipes?.take()
  const state = createLocalShellState({
    cwd: options.cwd,
    shell,
    environment,
    startupFiles: options.startupFiles ?? STARTUP_FILES,
    startupVariables: options.startupVariables ?? visibleVariables([]),
    persistent: options.persistentShell ?? true,
    openSandbox: options.openSandbox,
    onPreparing: async () => {
      await pipes?.prepare()
      spare?.prepare()
    },
    signal: closing.signal,
  })

  /** Loaded with the first command: a conversation without one needs neither. */
  const loadSupplies = async (): Promise<void> => {
    if (pipes !== undefined) return
    const [{ createPipeSupply }, { createSpareShell }] = await Promise.all([
      import("./pipe-supply.ts"),
      import("./spare-shell.ts"),
    ])
    if (closing.signal.aborted) return
    pipes ??= createPipeSupply()
    if (!shell.endsWith("/bash")) return
    spare ??= createSpareShell({ shell, environment, prefix: () => state.prefixFor("/"), takePipe })
  }
  /** Undefined when the signal came first. */
  const prepare = async (signal: AbortSignal) => {
    await loadSupplies()
    const [opened] = await Promise.all([state.prepare(signal), pipes?.prepare()])
    return opened
  }
  /** Where commands follow each other faster than walls go up, those for the next are begun beside this one; else they only disturb it. */
  let lastEnd = -WALLS_TAKE_MS
  /** When nothing else is to be done at the moment. */
  const prepareSpare = (): void => {
    setImmediate(() => spare?.prepare()).unref()
  }

  const begin = (
    command: string,
    run: RunOptions,
    place: LocalShell & { readonly handover?: Handover | undefined },
  ): LocalCommand => {
    const local = runLocalCommand(command, { ...run, ...place })
    started.add(local)
    const ended = Promise.all([local.exit, local.gone]).finally(() => {
      running.delete(ended)
      if (!local.hasLeftovers()) started.delete(local)
    })
    running.add(ended)
    return local
  }
  const runOnce = (command: string, run: RunOptions): RunningCommand => {
    const cwd = run.cwd ?? state.cwd()
    const local = begin(command, run, { cwd, shell, environment, prefix: state.prefixFor(cwd) })
    return { output: local.output, exit: local.exit }
  }
  /** With walls to be opened first, or start-up files to be sourced, the command starts a little later. */
  const later = (prepare: () => Promise<RunningCommand>): RunningCommand => {
    const local = prepare()
    return { output: outputOf(local), exit: local.then(({ exit }) => exit) }
  }
  const runBehindWalls = (command: string, run: RunOptions): RunningCommand =>
    later(async () => {
      const opened = await state.openWalls()
      return opened.ok ? runOnce(command, run) : refused(opened.error)
    })
  const runInState = (command: string, run: RunOptions): RunningCommand =>
    later(async () => {
      const opened = await prepare(run.signal)
      if (opened?.ok === false) return refused(opened.error)
      if (run.signal.aborted) return runOnce(command, run)
      const { note, finish, preparedScript, ...place } = state.begin(command, run.cwd)
      const fresh = (): LocalCommand => begin(command, run, { ...place, prefix: state.prefixFor(place.cwd), takePipe })
      const waiting = fitsSpare(command, place.cwd) ? spare?.take() : undefined
      const handOver = (to: WaitingShell): LocalCommand =>
        begin(command, run, { ...place, handover: { waiting: to, script: preparedScript } })
      const begun = waiting === undefined ? fresh() : begunBy(waiting, handOver(waiting), fresh)
      if (state.hasWalls && performance.now() - lastEnd < WALLS_TAKE_MS) prepareSpare()
      const exit = begun.exit.then((ended) => {
        finish()
        lastEnd = performance.now()
        prepareSpare()
        return note === undefined ? ended : { ...ended, cwdNote: note }
      })
      return { output: begun.output, exit }
    })

  return {
    kind: "local",
    isContainer: false,
    cwd: state.cwd,
    warm: () => {
      // What goes wrong is told to the command itself, which waits for the same.
      prepare(closing.signal).catch(() => undefined)
    },
    files: createLocalFiles({ cwd: state.cwd, userHome: options.userHome, guard: options.fileGuard }),
    run: (command, run) => {
      const bounded = { ...run, signal: AbortSignal.any([run.signal, closing.signal]) }
      if (run.keepState === true) return runInState(command, bounded)
      return state.hasWalls ? runBehindWalls(command, bounded) : runOnce(command, bounded)
    },
    start: async (command, { cwd, pty, ...hears }) => {
      const { startInTerminal, startPiped } = await import("../background/start-local.ts")
      const opened = await prepare(closing.signal)
      if (opened === undefined) throw new Error("the place to work is being closed")
      if (!opened.ok) throw new Error(opened.error)
      const streams = { hasTerminal: pty, keepsErrorsApart: hears.onErrorOutput !== undefined }
      const place = { ...state.look(command, cwd, streams), ...hears, takePipe }
      const begun = (pty ? await startInTerminal(command, place) : undefined) ?? startPiped(command, place)
      background.add(begun)
      const ended = begun.exit.finally(() => {
        running.delete(ended)
        if (!begun.hasLeftovers()) background.delete(begun)
      })
      running.add(ended)
      if (closing.signal.aborted) begun.abandon()
      return begun
    },
    ripgrep: async () => {
      try {
        const { rgPath } = await import("@vscode/ripgrep")
        return existsSync(rgPath) ? rgPath : undefined
      } catch {
        // Its platform package is not installed; the search tool then uses grep and find.
        return undefined
      }
    },
    describe: () =>
      Promise.resolve({
        os: type(),
        release: release(),
        user: userName(environment),
        home: options.userHome,
        cwd: state.cwd(),
      }),
    close: async () => {
      closing.abort()
      spare?.dispose()
      await Promise.allSettled([...[...background].map((one) => one.kill()), ...running])
      for (const local of started) local.killLeftovers()
      started.clear()
      background.clear()
      pipes?.dispose()
      state.dispose()
    },
    abandon: () => {
      spare?.dispose()
      for (const local of started) local.killLeftovers()
      for (const one of background) one.abandon()
      pipes?.dispose()
      state.dispose()
    },
  }
}

/** What a waiting shell cannot be given, or what a start tells better. */
function fitsSpare(command: string, cwd: string): boolean {
  if (command.length > MOST_CHARS_FOR_SPARE || command.includes("\0")) return false
  try {
    accessSync(`${cwd}/.`)
    return true
  } catch {
    // It cannot be entered.
    return false
  }
}

/** Far below what can be given to a new shell, so that what is too long is so in either way. */
const MOST_CHARS_FOR_SPARE = 16_000

/** The command by a shell that was waiting; by a fresh one, if that died before it began. */
function begunBy(waiting: WaitingShell, first: LocalCommand, fresh: () => LocalCommand): RunningCommand {
  const second = first.exit.then(({ how }) => (how === "exited" && !waiting.hasBegun() ? fresh() : undefined))
  return { output: outputOfBoth(first, second), exit: second.then((again) => (again ?? first).exit) }
}

async function* outputOfBoth(
  first: RunningCommand,
  second: Promise<RunningCommand | undefined>,
): AsyncGenerator<string, void, void> {
  yield* first.output
  const again = await second
  if (again !== undefined) yield* again.output
}

function refused(reason: string): RunningCommand {
  const output = new LiveOutput()
  output.end()
  return {
    output,
    exit: Promise.resolve({ how: "failed-to-start", code: -1, output: "", omittedChars: 0, error: reason }),
  }
}

/** The output of a command that is still to be started. */
async function* outputOf(command: Promise<RunningCommand>): AsyncGenerator<string, void, void> {
  yield* (await command).output
}

function findShell(): string {
  return ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"].find((path) => existsSync(path)) ?? "/bin/sh"
}

/** Not from the account database: asking it costs a start several milliseconds, and a container's user may not be in it. */
function userName(environment: Readonly<Record<string, string>>): string {
  return environment["USER"] ?? environment["LOGNAME"] ?? String(process.getuid?.() ?? "unknown")
}
