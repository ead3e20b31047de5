import { existsSync } from "node:fs"
import { release, type } from "node:os"

import { createLocalFiles } from "./local-files.ts"
import { runLocalCommand } from "./local-command.ts"
import type { LocalCommand } from "./local-command.ts"
import type { Workspace } from "./workspace.ts"

export interface LocalWorkspaceOptions {
  readonly cwd: string
  readonly userHome: string
  /** The complete environment of commands, already filtered. */
  readonly environment: Readonly<Record<string, string>>
}

/** This machine. Each command is a process group of its own; none outlives `close`, nor does what it left in the background. */
export function createLocalWorkspace(options: LocalWorkspaceOptions): Workspace {
  const closing = new AbortController()
  const running = new Set<Promise<unknown>>()
  const started = new Set<LocalCommand>()
  const cwd = (): string => options.cwd

  return {
    kind: "local",
    cwd,
    files: createLocalFiles({ cwd, userHome: options.userHome }),
    run: (command, run) => {
      const local = runLocalCommand(command, {
        ...run,
        cwd: run.cwd ?? options.cwd,
        shell: findShell(),
        environment: options.environment,
        signal: AbortSignal.any([run.signal, closing.signal]),
      })
      started.add(local)
      const ended = local.exit.finally(() => {
        running.delete(ended)
        if (!local.hasLeftovers()) started.delete(local)
      })
      running.add(ended)
      return { output: local.output, exit: local.exit }
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
        user: userName(options.environment),
        home: options.userHome,
        cwd: options.cwd,
      }),
    close: async () => {
      closing.abort()
      await Promise.allSettled(running)
      for (const local of started) local.killLeftovers()
      started.clear()
    },
    abandon: () => {
      for (const local of started) local.killLeftovers()
    },
  }
}

function findShell(): string {
  return ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"].find((path) => existsSync(path)) ?? "/bin/sh"
}

/** Not from the account database: asking it costs a start several milliseconds, and a container's user may not be in it. */
function userName(environment: Readonly<Record<string, string>>): string {
  return environment["USER"] ?? environment["LOGNAME"] ?? String(process.getuid?.() ?? "unknown")
}
