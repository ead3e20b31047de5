import { accessSync, existsSync } from "node:fs"
import { release, type } from "node:os"
import { dirname } from "node:path"

import { errorMessage } from "../../base/system-error.ts"
import type { LocalBackgroundCommand } from "../background/start-local.ts"
import { visibleVariables } from "../command-environment.ts"
import { LiveOutput, outputOnceStarted } from "../live-output.ts"
import type { ProgramOptions, StartedProgram } from "../programs/programs.ts"
import type { ResultFiles, RunningCommand, RunCommandOptions, Workspace } from "../workspace.ts"
import { runLocalCommand } from "./local-command.ts"
import type { LocalCommand, LocalShell, PrewarmedRun, PrewarmedShell } from "./local-command.ts"
import { createLocalFiles } from "./local-files.ts"
import type { FileGuard } from "./local-files.ts"
import { createLocalMachine } from "./local-machine.ts"
import type { LocalMachine } from "./local-machine.ts"
import { createLocalShellState } from "./local-shell-state.ts"
import type { OpenSandbox } from "./local-shell-state.ts"
import type { ShellPrewarmer } from "./shell-prewarmer.ts"

export interface LocalWorkspaceOptions {
  readonly cwd: string
  readonly userHome: string
  /** The environment of commands, already filtered. */
  readonly environment: Readonly<Record<string, string>>
  /** Variables of this conversation only. Shells are prewarmed without them, so that any conversation can use them. */
  readonly sessionVariables?: Readonly<Record<string, string>>
  /** What the workspace shares with others. By default it has its own. */
  readonly machine?: LocalMachine
  /** Shell start-up files, sourced once. Default: profile and bashrc. */
  readonly startupFiles?: readonly string[]
  /** Names and shell patterns of the variables that the start-up files may add. */
  readonly startupVariables?: readonly string[]
  /** False: every command starts in `cwd` with the same variables. Default true. */
  readonly persistentShell?: boolean
  /** The environment of programs with channels; that of commands by default. */
  readonly programEnvironment?: () => Readonly<Record<string, string>>
  /** Opens the sandbox for all commands. */
  readonly openSandbox?: OpenSandbox
  readonly fileGuard?: FileGuard
  /** Where results of this conversation are stored. Its parent has those of others, and commands can write neither. No links. */
  readonly resultDirectory?: string
}

/** How long it takes to set up a sandbox, with a margin. */
const SANDBOX_START_MS = 20

const STARTUP_FILES = ["/etc/profile", "~/.profile", "~/.bash_profile", "~/.bashrc"]

/** The workspace on this machine. Each command has its own process group; `close` also kills what commands left in the background. */
export function createLocalWorkspace(options: LocalWorkspaceOptions): Workspace {
  const closing = new AbortController()
  const running = new Set<Promise<unknown>>()
  const started = new Set<LocalCommand>()
  const background = new Set<LocalBackgroundCommand>()
  const programs = new Set<StartedProgram>()
  const { environment, sessionVariables = {} } = options
  const machine = options.machine ?? createLocalMachine()
  let prewarmer: ShellPrewarmer | undefined
  const disposeOwnMachine = (): void => {
    if (options.machine === undefined) machine.dispose()
  }
  const takePipe = () => machine.preparations()?.pipes.take()
  const state = createLocalShellState({
    cwd: options.cwd,
    machine,
    userHome: options.userHome,
    environment,
    sessionVariables,
    startupFiles: options.startupFiles ?? STARTUP_FILES,
    startupVariables: options.startupVariables ?? visibleVariables([]),
    persistent: options.persistentShell ?? true,
    openSandbox: options.openSandbox,
    onPreparing: async () => {
      await machine.preparations()?.pipes.prepare()
      prewarmer?.prepare(state.cwd())
    },
    signal: closing.signal,
  })

  /** Resolves to undefined when the signal aborts first. */
  const prepare = async (signal: AbortSignal) => {
    const preparations = await machine.loadPreparations()
    if (!closing.signal.aborted) {
      const { shell } = machine
      const { shells, startInHelper } = preparations ?? {}
      prewarmer ??= shells?.open({ shell, environment, prefix: (cwd) => state.prefixFor(cwd), takePipe, startInHelper })
    }
    const [opened] = await Promise.all([state.prepare(signal), preparations?.pipes.prepare()])
    return opened
  }
  /**
   * When commands follow each other faster than a sandbox starts, the next shell is prewarmed while this command runs. Otherwise it would
   * only slow the command down, so it is prewarmed afterwards.
   */
  let lastExitAt = -SANDBOX_START_MS
  const prewarmWhenIdle = (): void => {
    setImmediate(() => prewarmer?.prepare(state.cwd())).unref()
  }

  const begin = (
    command: string,
    run: RunCommandOptions,
    shellOptions: LocalShell & { readonly prewarmed?: PrewarmedRun | undefined },
  ): LocalCommand => {
    const local = runLocalCommand(command, { ...run, ...shellOptions })
    started.add(local)
    const ended = Promise.all([local.exit, local.terminated]).finally(() => {
      running.delete(ended)
      if (!local.hasLeftovers()) started.delete(local)
    })
    running.add(ended)
    return local
  }
  const runStateless = (command: string, run: RunCommandOptions): RunningCommand => {
    const cwd = run.cwd ?? state.cwd()
    const local = begin(command, run, {
      cwd,
      shell: machine.shell,
      environment: { ...environment, ...sessionVariables },
      prefix: state.prefixFor(cwd, { confinement: run.confinement }),
    })
    return { output: local.output, exit: local.exit }
  }
  /** For a command that starts only after the sandbox is open or the start-up files are sourced. */
  const startLater = (startCommand: () => Promise<RunningCommand>): RunningCommand => {
    // A sandbox that cannot be built for this command throws.
    const local = startCommand().catch((error: unknown) => refused(errorMessage(error)))
    return { output: outputOnceStarted(local), exit: local.then(({ exit }) => exit) }
  }
  const runStatelessInSandbox = (command: string, run: RunCommandOptions): RunningCommand =>
    startLater(async () => {
      const opened = await state.openSandbox()
      return opened.ok ? runStateless(command, run) : refused(opened.error)
    })
  const startWithState = async (command: string, run: RunCommandOptions): Promise<RunningCommand> => {
    if (run.signal.aborted) return runStateless(command, run)
    const { note, finish, preparedScript, ...shellOptions } = state.beginCommand(command, run.cwd)
    const runInNewShell = (): LocalCommand =>
      begin(command, run, {
        ...shellOptions,
        prefix: state.prefixFor(shellOptions.cwd, { confinement: run.confinement }),
        takePipe,
      })
    const suits = run.confinement === undefined && suitsPrewarmedShell(command, shellOptions.cwd)
    const prewarmedShell = suits ? await prewarmer?.take(shellOptions.cwd) : undefined
    const runInPrewarmed = (prewarmed: PrewarmedShell): RunningCommand => {
      const first = begin(command, run, { ...shellOptions, prewarmed: { shell: prewarmed, script: preparedScript } })
      return withFallback(prewarmed, first, runInNewShell)
    }
    const handle = prewarmedShell === undefined ? runInNewShell() : runInPrewarmed(prewarmedShell)
    if (state.hasSandbox && performance.now() - lastExitAt < SANDBOX_START_MS) prewarmWhenIdle()
    const exit = handle.exit.then((ended) => {
      finish()
      lastExitAt = performance.now()
      prewarmWhenIdle()
      return note === undefined ? ended : { ...ended, cwdNote: note }
    })
    return { output: handle.output, exit }
  }
  const runWithState = (command: string, run: RunCommandOptions): RunningCommand =>
    startLater(async () => {
      const opened = await prepare(run.signal)
      if (opened?.ok === false) return refused(opened.error)
      const started = await machine.startGate.start(() => startWithState(command, run), run.signal)
      return started ?? runStateless(command, run)
    })
  const programEnvironment = options.programEnvironment ?? ((): typeof environment => environment)
  const startProgram = async ({ commandLine, cwd, channels, ...program }: ProgramOptions): Promise<StartedProgram> => {
    const [opened, { startProgram: start, endsWithHermes }] = await Promise.all([
      state.openSandbox(),
      import("../programs/start-program.ts"),
    ])
    if (closing.signal.aborted) throw new Error("the workspace is being closed")
    if (!opened.ok) throw new Error(opened.error)
    const { confinement, privateDirectory } = program
    const prefix = state.prefixFor(cwd, { confinement, program: { privateDirectory, channels } }) ?? []
    const started = start({
      commandLine,
      cwd,
      channels,
      prefix: state.isSandboxed() ? prefix : [...prefix, ...endsWithHermes(environment["PATH"] ?? "")],
      environment: { ...programEnvironment(), ...program.environment },
    })
    programs.add(started)
    const ended = started.exit.finally(() => {
      running.delete(ended)
      programs.delete(started)
    })
    running.add(ended)
    return started
  }

  return {
    kind: "local",
    isContainer: false,
    cwd: state.cwd,
    adoptedStates: state.adoptedStates,
    isSandboxed: async () => (await prepare(closing.signal))?.ok === true && state.isSandboxed(),
    programs: {
      isSandboxed: async () => (await state.openSandbox()).ok && state.isSandboxed(),
      environment: () => Promise.resolve(programEnvironment()),
      start: startProgram,
    },
    prewarm: () => {
      // A command awaits the same preparations and reports their failure.
      prepare(closing.signal).catch(() => undefined)
    },
    files: createLocalFiles({ cwd: state.cwd, userHome: options.userHome, guard: options.fileGuard }),
    results: resultFiles(options.resultDirectory),
    run: (command, run) => {
      const bounded = { ...run, signal: AbortSignal.any([run.signal, closing.signal]) }
      if (run.keepState === true) return runWithState(command, bounded)
      return state.hasSandbox ? runStatelessInSandbox(command, bounded) : runStateless(command, bounded)
    },
    start: async (command, { cwd, pty, confinement, ...callbacks }) => {
      const { startInTerminal, startPiped } = await import("../background/start-local.ts")
      const opened = await prepare(closing.signal)
      if (opened === undefined) throw new Error("the workspace is being closed")
      if (!opened.ok) throw new Error(opened.error)
      const streams = { hasTerminal: pty, separateStderr: callbacks.onErrorOutput !== undefined, confinement }
      const shellOptions = { ...state.beginBackground(command, cwd, streams), ...callbacks, takePipe }
      const inTerminal = pty ? await startInTerminal(command, shellOptions) : undefined
      const handle = inTerminal ?? startPiped(command, shellOptions)
      background.add(handle)
      const ended = handle.exit.finally(() => {
        running.delete(ended)
        if (!handle.hasLeftovers()) background.delete(handle)
      })
      running.add(ended)
      if (closing.signal.aborted) handle.killImmediately()
      return handle
    },
    ripgrep: async () => {
      try {
        const { rgPath } = await import("@vscode/ripgrep")
        return existsSync(rgPath) ? rgPath : undefined
      } catch {
        // The package for this platform is not installed; the search tool falls back to grep and find.
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
    processGroups: () => [...started, ...background].flatMap(({ pid }) => pid ?? []),
    close: async () => {
      closing.abort()
      prewarmer?.dispose()
      for (const program of programs) program.kill()
      await Promise.allSettled([...[...background].map((one) => one.kill()), ...running])
      for (const local of started) local.killLeftovers()
      started.clear()
      background.clear()
      state.dispose()
      disposeOwnMachine()
    },
    abandon: () => {
      prewarmer?.dispose()
      for (const local of started) local.killLeftovers()
      for (const one of background) one.killImmediately()
      for (const program of programs) program.kill()
      state.dispose()
      disposeOwnMachine()
    },
  }
}

function resultFiles(directory: string | undefined): ResultFiles {
  if (directory === undefined)
    return { save: () => Promise.reject(new Error("this workspace has no directory for results")) }
  // Loaded with the first result that is too long, which many conversations never have.
  const load = () => import("./local-results.ts")
  return {
    directory,
    save: async (text) => (await load()).saveResult(directory, text),
    removeOld: async (now) => (await load()).removeOldResults(dirname(directory), now),
  }
}

/** False for a command that a prewarmed shell cannot run, or whose error only a new shell reports properly. */
function suitsPrewarmedShell(command: string, cwd: string): boolean {
  if (command.length > MAX_CHARS_FOR_PREWARMED || command.includes("\0")) return false
  try {
    accessSync(`${cwd}/.`)
    return true
  } catch {
    // The directory cannot be entered.
    return false
  }
}

/** Far below the limit for a new shell, so that a command which is too long is rejected in the same way with or without prewarming. */
const MAX_CHARS_FOR_PREWARMED = 16_000

/** Runs the command in a new shell if the prewarmed one died before it started the command. */
function withFallback(
  prewarmed: PrewarmedShell,
  first: LocalCommand,
  runInNewShell: () => LocalCommand,
): RunningCommand {
  const second = first.exit.then(({ how }) =>
    how === "exited" && !prewarmed.hasStarted() ? runInNewShell() : undefined,
  )
  return { output: outputOfBoth(first, second), exit: second.then((retried) => (retried ?? first).exit) }
}

async function* outputOfBoth(
  first: RunningCommand,
  second: Promise<RunningCommand | undefined>,
): AsyncGenerator<string, void, void> {
  yield* first.output
  const retried = await second
  if (retried !== undefined) yield* retried.output
}

function refused(reason: string): RunningCommand {
  const output = new LiveOutput()
  output.end()
  return {
    output,
    exit: Promise.resolve({ how: "failed-to-start", code: -1, output: "", omittedChars: 0, error: reason }),
  }
}

/** Avoids the account database: querying it takes several milliseconds, and a container's user may be missing there. */
function userName(environment: Readonly<Record<string, string>>): string {
  return environment["USER"] ?? environment["LOGNAME"] ?? String(process.getuid?.() ?? "unknown")
}
