import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { EventEmitter } from "node:events"
import type { Socket } from "node:net"
import type { Readable, Writable } from "node:stream"

import { CLOSED_DESCRIPTORS } from "../open-file-prefix.ts"
import { signalGroup } from "../process-tree.ts"
import { closeTerminals } from "./inherited-descriptors.ts"
import { createHelperMessages } from "./helper-messages.ts"
import type { HelperRequest } from "./helper-messages.ts"

/** Starting a process copies the page tables of this one and blocks it meanwhile: 1 ms at 50 MB, 12 ms at 200, 25 ms at 500. */
const WORTHWHILE_BYTES = 128 * 1024 * 1024
/** A process that has started so many shells will start more of them. */
const WORTHWHILE_STARTS = 4
/** A helper that dies this often will not work the next time either. */
const MAX_HELPERS = 3

/** What this process does with a process that it started, itself or through the helper. */
export interface StartedChild {
  /** Undefined when it could not be started, and until the helper has reported it. */
  readonly pid?: number | undefined
  readonly exitCode: number | null
  readonly signalCode: NodeJS.Signals | null
  readonly stdin: Writable | null
  readonly stdout: Readable | null
  readonly stderr: Readable | null
  once(event: "error", listener: (error: Error) => void): unknown
  once(event: "exit", listener: (code: number | null, signal: NodeJS.Signals | null) => void): unknown
  /** The helper has reported it. */
  once(event: "start", listener: () => void): unknown
  /** It has exited and its stdin, stdout and stderr are closed. */
  once(event: "close", listener: () => void): unknown
  ref(): void
  unref(): void
}

/** The ends of three named pipes that stay in this process. The helper opens the others by path and removes the names. */
export interface HelperPipes {
  readonly paths: readonly [stdin: string, stdout: string, stderr: string]
  readonly stdin: Socket
  readonly stderr: Socket
  /** Closes what is needed only until the process has its own ends. */
  started(): void
}

/**
 * Starts processes from a small process of its own, because starting them here takes longer the more memory this process has. The helper
 * ends when this process does, however that ends. It is started when it is worthwhile, and again when it has died.
 */
export interface SpawnHelper {
  /** Undefined while no helper is ready: the caller then starts the process itself. */
  start(request: HelperRequest, openPipes: () => HelperPipes | undefined): StartedChild | undefined
  dispose(): void
}

export interface SpawnHelperOptions {
  /** The memory of this process from which on the helper is used. */
  readonly worthwhileBytes?: number
}

export function createSpawnHelper({ worthwhileBytes = WORTHWHILE_BYTES }: SpawnHelperOptions = {}): SpawnHelper {
  let helper: RunningHelper | undefined
  let helpers = 0
  let requests = 0
  let isDisposed = false
  const isWorthwhile = (): boolean => requests > WORTHWHILE_STARTS || process.memoryUsage.rss() >= worthwhileBytes
  const startIfWorthwhile = (): void => {
    if (isDisposed || helpers === MAX_HELPERS || !isWorthwhile()) return
    helpers += 1
    helper = startHelper()
  }
  return {
    start: (request, openPipes) => {
      requests += 1
      if (helper === undefined || helper.state() === "ended") startIfWorthwhile()
      // It takes longer to start than a process that is started here.
      const pipes = helper?.state() === "ready" ? openPipes() : undefined
      return pipes === undefined ? undefined : helper?.start(request, pipes)
    },
    dispose: () => {
      isDisposed = true
      helper?.stop()
    },
  }
}

interface RunningHelper {
  state(): "starting" | "ready" | "ended"
  start(request: HelperRequest, pipes: HelperPipes): StartedChild
  stop(): void
}

/** The helper's first report has this id. */
const READY = 0

/** What the helper reports about a process. */
interface Report {
  readonly id: number
  readonly pid?: number
  readonly error?: { readonly code?: string; readonly message: string }
  readonly exit?: { readonly code: number | null; readonly signal: NodeJS.Signals | null }
}

function startHelper(): RunningHelper | undefined {
  let server: ChildProcess
  try {
    // Descriptor 3 is its channel. Detached, so that Ctrl+C in the terminal does not end it.
    const [program = process.execPath, ...args] = [...closeTerminals(1), process.execPath, ...MEMORY_FLAGS]
    server = spawn(program, [...args, "-e", HELPER], {
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      env: {},
      cwd: "/",
      detached: true,
    })
  } catch {
    // No more processes can be started; starting the command reports that.
    return undefined
  }
  const children = new Map<number, HelperChild>()
  let lastId = 0
  const messageOf = createHelperMessages()
  let state: ReturnType<RunningHelper["state"]> = "starting"
  let references = 0
  const ended = (): void => {
    state = "ended"
    for (const child of children.values()) child.lost()
    children.clear()
  }
  /** Only a process that is in use keeps this process running. */
  const countReference = (change: 1 | -1): void => {
    references += change
    if (references > 0) server.channel?.ref()
    else server.channel?.unref()
  }
  server.once("error", ended)
  server.once("exit", ended)
  server.once("disconnect", ended)
  server.on("message", (report: Report) => {
    if (report.id === READY && state === "starting") state = "ready"
    const child = children.get(report.id)
    if (report.exit !== undefined || report.error !== undefined) children.delete(report.id)
    child?.report(report)
  })
  server.unref()
  server.channel?.unref()
  return {
    state: () => state,
    start: (request, pipes) => {
      lastId += 1
      const id = lastId
      const child = new HelperChild(pipes, countReference)
      children.set(id, child)
      server.send({ id, paths: pipes.paths, ...messageOf(request) }, (error) => {
        if (error !== null && children.delete(id)) child.lost()
      })
      return child
    },
    stop: () => {
      state = "ended"
      if (server.connected) server.disconnect()
    },
  }
}

class HelperChild extends EventEmitter implements StartedChild {
  pid: number | undefined
  exitCode: number | null = null
  signalCode: NodeJS.Signals | null = null
  readonly stdout = null
  readonly stdin: Socket
  readonly stderr: Socket
  readonly #pipes: HelperPipes
  readonly #countReference: (change: 1 | -1) => void
  #keepsRunning = true

  constructor(pipes: HelperPipes, countReference: (change: 1 | -1) => void) {
    super()
    this.#pipes = pipes
    this.#countReference = countReference
    this.stdin = pipes.stdin
    this.stderr = pipes.stderr
    countReference(1)
  }

  report({ pid, error, exit }: Report): void {
    this.#pipes.started()
    this.pid ??= pid
    if (pid !== undefined) this.emit("start")
    if (error !== undefined) this.#fail(Object.assign(new Error(error.message), error))
    if (exit !== undefined) this.#exited(exit.code, exit.signal)
  }

  /** The helper has died, so nothing will report the end of the process. */
  lost(): void {
    if (this.pid !== undefined) signalGroup(this.pid, "SIGKILL")
    this.#pipes.started()
    if (this.pid === undefined) this.#fail(new Error("the process that starts commands has ended"))
    else this.#exited(null, "SIGKILL")
  }

  ref(): void {
    if (!this.#keepsRunning) this.#countReference(1)
    this.#keepsRunning = true
  }

  unref(): void {
    if (this.#keepsRunning) this.#countReference(-1)
    this.#keepsRunning = false
  }

  #fail(error: Error): void {
    this.unref()
    if (this.listenerCount("error") > 0) this.emit("error", error)
  }

  #exited(code: number | null, signal: NodeJS.Signals | null): void {
    if (this.exitCode !== null || this.signalCode !== null) return
    this.exitCode = code
    this.signalCode = signal
    this.stdin.destroy()
    this.unref()
    this.emit("exit", code, signal)
    if (this.stderr.closed) this.emit("close")
    else this.stderr.once("close", () => this.emit("close"))
  }
}

const MEMORY_FLAGS = ["--max-old-space-size=32", "--v8-pool-size=0"]

/**
 * Runs in the helper. A named pipe blocks whoever opens one end until the other end is open too, so it first opens both: this process may
 * have been killed meanwhile.
 */
const HELPER = `
const { spawn } = require("node:child_process")
const { closeSync, constants, openSync, unlinkSync } = require("node:fs")
const report = (about) => process.connected && process.send(about, () => undefined)
process.on("disconnect", () => process.exit(0))
let last
process.on("message", ({ id, paths, own, common = last }) => {
  last = common
  const { commandLine, openFile, cwd, environment } = common
  const opened = []
  const open = (path, flags) => {
    const descriptor = openSync(path, flags)
    opened.push(descriptor)
    return descriptor
  }
  try {
    for (const path of paths) open(path, constants.O_RDWR | constants.O_NONBLOCK)
    const stdio = paths.map((path, index) => open(path, index === 0 ? constants.O_RDONLY : constants.O_WRONLY))
    for (const path of paths) unlinkSync(path)
    if (openFile !== undefined) stdio.push(...${JSON.stringify(CLOSED_DESCRIPTORS)}, open(openFile, constants.O_RDONLY))
    const [program, ...args] = commandLine
    const child = spawn(program, args, { cwd, env: { ...environment, ...own }, detached: true, stdio })
    child.once("error", ({ code, message }) => child.pid === undefined && report({ id, error: { code, message } }))
    child.once("exit", (code, signal) => report({ id, exit: { code, signal } }))
    if (child.pid !== undefined) report({ id, pid: child.pid })
  } catch ({ code, message }) {
    report({ id, error: { code, message } })
  } finally {
    for (const descriptor of opened) closeSync(descriptor)
  }
})
report({ id: ${READY} })
`
