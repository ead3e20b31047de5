import { existsSync, mkdtempSync, rmSync } from "node:fs"
import type { Socket } from "node:net"
import { join } from "node:path"

import { lazy } from "../../base/lazy.ts"
import { createDescriptorPrefix } from "./inherited-descriptors.ts"
import type { LocalShell } from "./local-command.ts"
import type { NamedPipePool } from "./named-pipe-pool.ts"
import { createMemoryDirectory, removeMemoryDirectory } from "./ram-directory.ts"
import type { PrewarmedShells } from "./shell-prewarmer.ts"
import type { SpawnHelper, SpawnHelperOptions } from "./spawn-helper.ts"
import { createStartGate } from "./start-gate.ts"
import type { StartGate } from "./start-gate.ts"
import { createStartupStates } from "./startup-states.ts"
import type { StartupStates } from "./startup-states.ts"

/**
 * What the local workspaces of one app share. A process may have a thousand conversations open, so whatever a single one does not need
 * for itself exists once: named pipes, prewarmed shells, the state that the start-up files leave, and facts about this process.
 */
export interface LocalMachine {
  /** The shell that runs commands. */
  readonly shell: string
  readonly startupStates: StartupStates
  readonly startGate: StartGate
  /** A command line prefix that closes inherited descriptors, except for `kept` from 3 on; undefined when there are none. */
  descriptorPrefix(kept?: number): readonly string[] | undefined
  /** Creates a private directory for the shell state of one conversation. */
  createStateDirectory(): string
  removeStateDirectory(directory: string): void
  /** Loaded with the first command, so that a process without commands does not pay for it. Undefined after `dispose`. */
  loadPreparations(): Promise<Preparations | undefined>
  preparations(): Preparations | undefined
  /** Kills prewarmed shells and removes the directories. Call it when all workspaces are closed. */
  dispose(): void
}

export interface Preparations {
  readonly pipes: NamedPipePool
  /** Undefined when the shell is not bash. */
  readonly shells: PrewarmedShells | undefined
  readonly startInHelper: NonNullable<LocalShell["startInHelper"]>
}

/** Does nothing before it is used. The caller must dispose of it. */
export function createLocalMachine(options: SpawnHelperOptions = {}): LocalMachine {
  const shell = lazy(findShell)
  const directory = lazy(() => createMemoryDirectory("shell"))
  let preparations: Preparations | undefined
  let helper: SpawnHelper | undefined
  let isDisposed = false
  const load = async (): Promise<Preparations | undefined> => {
    const [{ createNamedPipePool }, { createPrewarmedShells }, { createSpawnHelper }] = await Promise.all([
      import("./named-pipe-pool.ts"),
      import("./shell-prewarmer.ts"),
      import("./spawn-helper.ts"),
    ])
    if (isDisposed || preparations !== undefined) return preparations
    const pipes = createNamedPipePool()
    helper = createSpawnHelper(options)
    preparations = {
      pipes,
      shells: shell().endsWith("/bash") ? createPrewarmedShells() : undefined,
      startInHelper: startWith(helper, pipes),
    }
    return preparations
  }
  return {
    get shell() {
      return shell()
    },
    startupStates: createStartupStates(),
    startGate: createStartGate(),
    descriptorPrefix: createDescriptorPrefix(shell),
    createStateDirectory: () => mkdtempSync(join(directory(), "state-")),
    removeStateDirectory: (path) => {
      // Retries because a process may still create files in it meanwhile.
      rmSync(path, { recursive: true, force: true, maxRetries: 3, retryDelay: 5 })
    },
    loadPreparations: async () => preparations ?? (await load()),
    preparations: () => preparations,
    dispose: () => {
      isDisposed = true
      preparations?.shells?.dispose()
      preparations?.pipes.dispose()
      helper?.dispose()
      preparations = undefined
      const created = directory.peek()
      if (created !== undefined) removeMemoryDirectory(created, Date.now())
    },
  }
}

function startWith(helper: SpawnHelper, pipes: NamedPipePool): Preparations["startInHelper"] {
  return (request) => {
    let output: Socket | undefined
    const child = helper.start(request, () => {
      const taken = pipes.takeForHelper()
      output = taken?.output
      return taken
    })
    return child === undefined || output === undefined ? undefined : { child, output }
  }
}

function findShell(): string {
  return ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"].find((path) => existsSync(path)) ?? "/bin/sh"
}
