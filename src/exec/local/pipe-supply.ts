import { spawn } from "node:child_process"
import { closeSync, constants, openSync, unlinkSync } from "node:fs"
import { Socket } from "node:net"
import { join } from "node:path"

import { makeMemoryDirectory, removeMemoryDirectory } from "./memory-directory.ts"

/** Named pipes are made by a program, so many at a time. */
const BATCH = 32
const MAKE_MORE_BELOW = 8

/** What a command writes into, and where that is read. */
export interface OutputPipe {
  /** To be given to the command, and closed once it has it. */
  readonly writeEnd: number
  readonly output: Socket
}

export interface PipeSupply {
  /** Makes more where few are left. Resolves when one is there, or when none can be had. */
  prepare(): Promise<void>
  /** Undefined when there is none: Node's own way, a pair of sockets, does as well for most commands. */
  take(): OutputPipe | undefined
  dispose(): void
}

/**
 * Real pipes for the output of commands. What Node calls a pipe is a socket, and a socket cannot be opened by name: a script that writes to
 * `/dev/stderr` or `/dev/stdout` would fail, although it works in every terminal.
 */
export function createPipeSupply(): PipeSupply {
  let directory: string | undefined
  let ready: string[] = []
  let made = 0
  let making: Promise<void> | undefined
  let isImpossible = false
  const make = async (): Promise<void> => {
    const place = (directory ??= makeMemoryDirectory("pipes"))
    const names = Array.from({ length: BATCH }, () => join(place, String((made += 1))))
    if (await makeNamedPipes(names)) ready.push(...names)
    else isImpossible = true
    making = undefined
  }
  return {
    prepare: async () => {
      if (!isImpossible && ready.length < MAKE_MORE_BELOW) making ??= make()
      if (ready.length === 0) await making
    },
    take: () => {
      const path = ready.pop()
      return path === undefined ? undefined : openPipe(path)
    },
    dispose: () => {
      isImpossible = true
      ready = []
      if (directory !== undefined) removeMemoryDirectory(directory, Date.now())
    },
  }
}

async function makeNamedPipes(paths: readonly string[]): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  try {
    const maker = spawn("mkfifo", ["-m", "600", "--", ...paths], { stdio: "ignore", env: {} })
    maker.once("error", () => {
      resolve(false)
    })
    maker.once("exit", (code) => {
      resolve(code === 0)
    })
  } catch {
    // No more processes; the start of the command will tell.
    resolve(false)
  }
  return await promise
}

/** Nobody can open it by name once it is in use. */
function openPipe(path: string): OutputPipe | undefined {
  const opened: number[] = []
  try {
    // In this order: to open the write end alone would be to wait for a reader.
    const readEnd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    opened.push(readEnd)
    const writeEnd = openSync(path, constants.O_WRONLY)
    opened.push(writeEnd)
    unlinkSync(path)
    return { writeEnd, output: new Socket({ fd: readEnd, readable: true, writable: false }) }
  } catch {
    // It was removed behind our back, or there are too many open files, which the start of the command will tell.
    for (const end of opened) closeSync(end)
    return undefined
  }
}
