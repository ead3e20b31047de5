import { spawn } from "node:child_process"
import { closeSync, constants, openSync, unlinkSync } from "node:fs"
import { Socket } from "node:net"
import { join } from "node:path"

import { lazy } from "../../base/lazy.ts"
import { createMemoryDirectory, removeMemoryDirectory } from "./ram-directory.ts"
import type { HelperPipes } from "./spawn-helper.ts"

/** Creating named pipes starts a program, so they are created in batches, and in larger ones where many are needed. */
const FIRST_BATCH = 32
const MAX_BATCH = 256

export interface OutputPipe {
  /** Descriptor for the command's stdout. Close it once the command has been started. */
  readonly writeEnd: number
  /** The read end. */
  readonly output: Socket
}

export interface NamedPipePool {
  /** Refills the pool when it runs low. Resolves when a pipe is available, or when none can be created. */
  prepare(): Promise<void>
  /** Undefined when the pool is empty: a socket pair, which Node uses by default, works for most commands too. */
  take(): OutputPipe | undefined
  /** Three pipes for a process that the helper starts; undefined when the pool has too few. */
  takeForHelper(): (HelperPipes & { readonly output: Socket }) | undefined
  dispose(): void
}

/**
 * A pool of real pipes for the output of commands. What Node calls a pipe is a socket, and a socket cannot be opened by name: a script that
 * writes to `/dev/stderr` or `/dev/stdout` would fail although it works in every terminal.
 */
export function createNamedPipePool(): NamedPipePool {
  const directory = lazy(() => createMemoryDirectory("pipes"))
  let available: string[] = []
  let createdCount = 0
  let batch = FIRST_BATCH
  let refilling: Promise<void> | undefined
  let isUnavailable = false
  const refill = async (): Promise<void> => {
    const paths = Array.from({ length: batch }, () => join(directory(), String((createdCount += 1))))
    batch = Math.min(2 * batch, MAX_BATCH)
    if (await createNamedPipes(paths)) available.push(...paths)
    else isUnavailable = true
    refilling = undefined
  }
  return {
    prepare: async () => {
      if (!isUnavailable && available.length < batch / 4) refilling ??= refill()
      if (available.length === 0) await refilling
    },
    take: () => {
      const path = available.pop()
      return path === undefined ? undefined : openPipe(path)
    },
    takeForHelper: () => {
      if (available.length < 3) return undefined
      const [stdin = "", stdout = "", stderr = ""] = available.splice(-3)
      return openForHelper([stdin, stdout, stderr])
    },
    dispose: () => {
      isUnavailable = true
      available = []
      const created = directory.peek()
      if (created !== undefined) removeMemoryDirectory(created, Date.now())
    },
  }
}

async function createNamedPipes(paths: readonly string[]): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  try {
    const child = spawn("mkfifo", ["-m", "600", "--", ...paths], { stdio: "ignore", env: {} })
    child.once("error", () => {
      resolve(false)
    })
    child.once("exit", (code) => {
      resolve(code === 0)
    })
  } catch {
    // No more processes can be started; starting the command reports that.
    resolve(false)
  }
  return await promise
}

/** Opens both ends and unlinks the name, so that no other process can open the pipe. */
function openPipe(path: string): OutputPipe | undefined {
  const opened: number[] = []
  try {
    // The read end first: opening a write end without a reader blocks.
    const readEnd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    opened.push(readEnd)
    const writeEnd = openSync(path, constants.O_WRONLY)
    opened.push(writeEnd)
    unlinkSync(path)
    return { writeEnd, output: new Socket({ fd: readEnd, readable: true, writable: false }) }
  } catch {
    // Another process has removed it, or too many files are open; starting the command reports the latter.
    for (const end of opened) closeSync(end)
    return undefined
  }
}

/** Opens this process' end of each pipe. The helper removes the names. */
function openForHelper(paths: HelperPipes["paths"]): (HelperPipes & { readonly output: Socket }) | undefined {
  const opened: number[] = []
  const open = (path: string, flags: number): number => {
    const descriptor = openSync(path, flags)
    opened.push(descriptor)
    return descriptor
  }
  try {
    const [stdin, stdout, stderr] = paths
    // Without a read end the write end cannot be opened. It is closed once the process has its own.
    const keptOpen = open(stdin, constants.O_RDONLY | constants.O_NONBLOCK)
    const ends = [
      open(stdin, constants.O_WRONLY),
      open(stdout, constants.O_RDONLY | constants.O_NONBLOCK),
      open(stderr, constants.O_RDONLY | constants.O_NONBLOCK),
    ] as const
    let hasStarted = false
    return {
      paths,
      stdin: new Socket({ fd: ends[0], readable: false, writable: true }),
      output: new Socket({ fd: ends[1], readable: true, writable: false }),
      stderr: new Socket({ fd: ends[2], readable: true, writable: false }),
      started: () => {
        if (!hasStarted) closeSync(keptOpen)
        hasStarted = true
      },
    }
  } catch {
    // Another process has removed a pipe, or too many files are open; starting the command reports the latter.
    for (const end of opened) closeSync(end)
    return undefined
  }
}
