import { mkdirSync } from "node:fs"
import { dirname } from "node:path"
import { Worker } from "node:worker_threads"

/** A plugin as the watchdog sees it. */
export interface WatchedPlugin {
  readonly key: string
  /** How the addresses of its modules begin. */
  readonly addresses: readonly string[]
  /** The file that keeps it from being loaded again, and its content. */
  readonly stoppedFile: string
  readonly stoppedContent: string
  /** For the user, when the process had to end. */
  readonly farewell: string
}

export interface Watchdog {
  /** Tells the watchdog which plugin the main thread has called; undefined when it has returned. */
  inside(index: number | undefined): void
  close(): Promise<void>
}

const CHECKS_PER_LIMIT = 5
const LIMITS_UNTIL_STUCK = 2
/** A program that a plugin waits for may still end, and Hermes could only be killed. */
const LIMITS_UNTIL_KILLED = 12

/**
 * Ends the process when a plugin blocks the main thread where no call can be stopped: in a timer, or after an `await`. Then neither
 * signals nor keys are handled, so nothing else could. A thread notices that the main thread does not respond, looks at its stack with the
 * inspector, and acts only if code of a plugin is running there.
 */
export function startWatchdog(plugins: readonly WatchedPlugin[], limitMs: number): Watchdog {
  const shared = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT))
  const everyMs = Math.max(10, Math.round(limitMs / CHECKS_PER_LIMIT))
  for (const { stoppedFile } of plugins) mkdirSync(dirname(stoppedFile), { recursive: true })
  const thread = new Worker(THREAD, {
    eval: true,
    execArgv: [],
    env: {},
    workerData: {
      shared,
      plugins,
      everyMs,
      missesUntilStuck: CHECKS_PER_LIMIT * LIMITS_UNTIL_STUCK,
      missesUntilKilled: CHECKS_PER_LIMIT * LIMITS_UNTIL_KILLED,
    },
  })
  thread.unref()
  // Without it plugins are contained less well, and Hermes works.
  thread.on("error", () => undefined)
  const beat = setInterval(() => Atomics.add(shared, BEATS, 1), everyMs)
  beat.unref()
  return {
    inside: (index) => {
      Atomics.store(shared, INSIDE, index === undefined ? 0 : index + 1)
    },
    close: async () => {
      clearInterval(beat)
      await thread.terminate()
    },
  }
}

const BEATS = 0
const INSIDE = 1

/**
 * The code of the thread. The main thread ends itself if it can, between two steps of the plugin, so that the terminal and running commands
 * are cleaned up. It prints nothing after the farewell: Node would mention the debugger.
 */
const THREAD = `
const { writeFileSync, writeSync } = require("node:fs")
const { Session } = require("node:inspector")
const { workerData } = require("node:worker_threads")
const { shared, plugins, everyMs, missesUntilStuck, missesUntilKilled } = workerData

let lastBeat = -1
let misses = 0
let examination

setInterval(() => {
  const beat = Atomics.load(shared, ${BEATS})
  if (beat !== lastBeat) {
    lastBeat = beat
    misses = 0
    if (examination !== undefined) examination.end()
    return
  }
  misses += 1
  if (misses >= missesUntilStuck && examination === undefined) examination = examine()
  if (misses >= missesUntilKilled) killIfInPlugin()
}, everyMs)

function examine() {
  const session = new Session()
  const addresses = new Map()
  let acted = false
  session.on("Debugger.scriptParsed", ({ params }) => addresses.set(params.scriptId, params.url))
  session.on("Debugger.paused", ({ params }) => {
    const frames = params.callFrames.map((frame) => addresses.get(frame.location.scriptId) ?? "")
    const plugin = frames.map(pluginOf).find((found) => found !== undefined)
    if (plugin === undefined) return session.post("Debugger.resume")
    acted = true
    mark(plugin)
    session.post("Runtime.evaluate", { expression: goodbye(plugin) })
    setTimeout(kill, 2000)
  })
  session.connectToMainThread()
  session.post("Debugger.enable")
  session.post("Debugger.pause")
  return {
    end: () => {
      if (acted) return
      session.disconnect()
      examination = undefined
    },
  }
}

function pluginOf(address) {
  return plugins.find((plugin) => plugin.addresses.some((start) => address.startsWith(start)))
}

function goodbye({ farewell }) {
  return \`{
    const { process } = globalThis
    const { writeSync, closeSync } = process.getBuiltinModule("node:fs")
    try { process.emit("exit", 1) } catch {}
    try { writeSync(2, \${JSON.stringify(farewell)}) } catch {}
    try { closeSync(2) } catch {}
    process.reallyExit(1)
  }\`
}

// A system call, for example a program that a plugin waits for, cannot be examined.
function killIfInPlugin() {
  const plugin = plugins[Atomics.load(shared, ${INSIDE}) - 1]
  if (plugin === undefined) return
  mark(plugin)
  try { writeSync(2, plugin.farewell) } catch {}
  kill()
}

function mark({ stoppedFile, stoppedContent }) {
  try { writeFileSync(stoppedFile, stoppedContent) } catch {}
}

function kill() {
  process.kill(process.pid, "SIGKILL")
}
`
