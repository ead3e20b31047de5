import { existsSync } from "node:fs"
import { release, type } from "node:os"

import type { LocalBackground } from "./background/start-local.ts"
import { visibleVariables } from "./command-environment.ts"
import { LiveOutput } from "./live-output.ts"
import { createLocalFiles } from "./local-files.ts"
import { runLocalCommand } from "./local-command.ts"
import type { LocalCommand, LocalShell } from "./local-command.ts"
import { createLocalShellState } from "./shell-state-local.ts"
import type { OpenSandbox } from "./shell-state-local.ts"
import type { RunningCommand, RunOptions, Workspace } from "./workspace.ts"

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
}

const STARTUP_FILES = ["/etc/profile", "~/.profile", "~/.bash_profile", "~/.bashrc"]

/** This machine. Each command is a process group of its own; none outlives `close`, nor does what it left in the background. */
export function createLocalWorkspace(options: LocalWorkspaceOptions): Workspace {
  const closing = new AbortController()
  const running = new Set<Promise<unknown>>()
  const started = new Set<LocalCommand>()
  const background = new Set<LocalBackground>()
  const { environment } = options
  const shell = findShell()
  const state = createLocalShellState({
    cwd: options.cwd,
    shell,
    environment,
    startupFiles: options.startupFiles ?? STARTUP_FILES,
    startupVariables: options.startupVariables ?? visibleVariables([]),
    persistent: options.persistentShell ?? true,
    openSandbox: options.openSandbox,
    signal: closing.signal,
  })

  const begin = (command: string, run: RunOptions, place: LocalShell): LocalCommand => {
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
    const local = state.openWalls().then((opened) => (opened.ok ? prepare() : refused(opened.error)))
    return { output: outputOf(local), exit: local.then(({ exit }) => exit) }
  }
  const runInState = (command: string, run: RunOptions): RunningCommand =>
    later(async () => {
      await state.prepare(run.signal)
      if (run.signal.aborted) return runOnce(command, run)
      const { note, finish, ...place } = state.begin(command, run.cwd)
      const begun = begin(command, run, place)
      const exit = begun.exit.then((ended) => {
        finish()
        return note === undefined ? ended : { ...ended, cwdNote: note }
      })
      return { output: begun.output, exit }
    })

  return {
    kind: "local",
    isContainer: false,
    cwd: state.cwd,
    files: createLocalFiles({ cwd: state.cwd, userHome: options.userHome }),
    run: (command, run) => {
      const bounded = { ...run, signal: AbortSignal.any([run.signal, closing.signal]) }
      if (run.keepState === true) return runInState(command, bounded)
      return state.hasWalls ? later(() => Promise.resolve(runOnce(command, bounded))) : runOnce(command, bounded)
    },
    start: async (command, { cwd, pty, onOutput }) => {
      const { startInTerminal, startPiped } = await import("./background/start-local.ts")
      const opened = await state.openWalls()
      if (!opened.ok) throw new Error(opened.error)
      await state.prepare(closing.signal)
      const place = { ...state.look(command, cwd, pty), onOutput }
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
      await Promise.allSettled([...[...background].map((one) => one.kill()), ...running])
      for (const local of started) local.killLeftovers()
      started.clear()
      background.clear()
      state.dispose()
    },
    abandon: () => {
      for (const local of started) local.killLeftovers()
      for (const one of background) one.abandon()
      state.dispose()
    },
  }
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
