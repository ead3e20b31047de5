import { AsyncLocalStorage } from "node:async_hooks"
import { realpathSync } from "node:fs"
import { url as debuggerAddress } from "node:inspector"
import { sep } from "node:path"
import { pathToFileURL } from "node:url"

import { ellipsize } from "../../base/text.ts"
import { onUncaughtError } from "../../base/uncaught-error.ts"
import type { Home } from "../../config/home.ts"
import { safeMessage } from "../safe-message.ts"
import { createLimitedCall } from "./blocking-limit.ts"
import { interceptProcessEnd } from "./process-end.ts"
import { markStopped, stoppedFile } from "./stopped-plugins.ts"
import { startWatchdog } from "./watchdog.ts"
import type { WatchedPlugin } from "./watchdog.ts"

/** Keeps faults of plugins away from the session: everything that runs their code does it through a boundary. */
export interface Containment {
  readonly boundaries: ReadonlyMap<string, PluginBoundary>
  close(): Promise<void>
}

export interface PluginBoundary {
  /**
   * Calls code of the plugin. Stops it when it blocks the process for too long. Throws what the plugin throws, and a `PluginFault` when it
   * has been disabled, now or before.
   */
  call<T>(where: string, work: () => T): T
  /** The same for a plugin that may be disabled, so that it can clean up. */
  cleanUp<T>(where: string, work: () => T): T
  /** Runs code of Hermes that the plugin has called: its faults are not the plugin's. */
  outside<T>(work: () => T): T
  /** Undefined while it may be called. */
  fault(): PluginFailure | undefined
}

/** Why a plugin is disabled for this run. */
export interface PluginFailure {
  /** A clause. */
  readonly text: string
  /** It did not return, so it is not called again. */
  readonly blocked: boolean
}

export class PluginFault extends Error {
  override readonly name = "PluginFault"
}

export interface ContainedPlugin {
  readonly key: string
  readonly directory: string
}

export interface ContainmentOptions {
  readonly home: Home
  /** How long a plugin may block the process. */
  readonly limitMs: number
  /** A plugin must be disabled for this run. */
  readonly onFault: (key: string, fault: PluginFailure) => void
}

interface Member {
  readonly plugin: ContainedPlugin
  readonly index: number
  readonly addresses: readonly string[]
  fault: PluginFailure | undefined
}

const MAX_FAULT_CHARS = 500

/** For the plugins that are about to be loaded. */
export function createContainment(plugins: readonly ContainedPlugin[], options: ContainmentOptions): Containment {
  const { home } = options
  // Who debugs a plugin stops the process for as long as they like.
  const limitMs = debuggerAddress() === undefined ? options.limitMs : undefined
  const members = plugins.map((plugin, index): Member => {
    return { plugin, index, addresses: addressesOf(plugin.directory), fault: undefined }
  })
  const running = new AsyncLocalStorage<{ readonly member: Member; readonly where: string } | undefined>()
  const limitedCall = createLimitedCall()
  const watchdog =
    limitMs === undefined || members.length === 0
      ? undefined
      : startWatchdog(
          members.map((member) => watched(member, { home, limitMs })),
          limitMs,
        )
  /** The plugins whose code is on the stack of the main thread. */
  let inside: readonly Member[] = []

  const disable = (member: Member, text: string, { blocked = false } = {}): PluginFault => {
    const { key } = member.plugin
    if (member.fault === undefined) {
      const fault = { text: ellipsize(text, MAX_FAULT_CHARS), blocked }
      member.fault = fault
      running.run(undefined, () => {
        options.onFault(key, fault)
      })
    }
    return new PluginFault(`the plugin ${key} is disabled for this run: ${member.fault.text}`)
  }
  const writtenIn = (stack: string | undefined): Member | undefined =>
    members.find(({ addresses }) => addresses.some((address) => stack?.includes(address)))

  const restoreProcess = interceptProcessEnd((how) => {
    const store = running.getStore()
    // Listeners of the process, for example for signals, run without the context of the plugin that added them.
    const member = store?.member ?? writtenIn(new Error(how).stack)
    if (member === undefined) return
    throw disable(member, `it called ${how}${store === undefined ? "" : ` in ${store.where}`}`)
  })
  const stopListening = onUncaughtError((uncaught) => {
    const { error } = uncaught
    const store = running.getStore()
    const member = store?.member ?? writtenIn(stackOf(error))
    if (member === undefined) return
    uncaught.claim()
    disable(member, `an error in its background work was not handled: ${safeMessage(error)}`)
  })

  const enter = <T>(member: Member, where: string, work: () => T): T =>
    running.run({ member, where }, () => callLimited(member, where, work))
  const callLimited = <T>(member: Member, where: string, work: () => T): T => {
    if (limitMs === undefined) return work()
    const outer = inside
    inside = [...outer, member]
    watchdog?.inside(member.index)
    try {
      // The call that blocks has to end before those that wait for it.
      const done = limitedCall(Math.max(1, Math.round(limitMs / inside.length)), work)
      if (done !== undefined) return done.value
    } finally {
      inside = outer
      watchdog?.inside(outer.at(-1)?.index)
    }
    const fault = blockedFault(where, limitMs)
    markStopped(home, member.plugin.key, fault)
    const advice = `it is not loaded again until you run \`hermes plugins enable ${member.plugin.key}\``
    throw disable(member, `${fault}; ${advice}`, { blocked: true })
  }

  return {
    boundaries: new Map(
      members.map((member) => [
        member.plugin.key,
        {
          call: (where, work) => {
            if (member.fault !== undefined) throw disable(member, member.fault.text)
            return enter(member, where, work)
          },
          cleanUp: (where, work) => enter(member, where, work),
          outside: (work) => running.run(undefined, work),
          fault: () => member.fault,
        },
      ]),
    ),
    close: async () => {
      stopListening()
      restoreProcess()
      await watchdog?.close()
    },
  }
}

function watched(
  { plugin: { key }, addresses }: Member,
  { home, limitMs }: { readonly home: Home; readonly limitMs: number },
): WatchedPlugin {
  const fault = blockedFault("its background work", limitMs)
  return {
    key,
    addresses,
    stoppedFile: stoppedFile(home, key),
    stoppedContent: `${JSON.stringify({ reason: fault })}\n`,
    farewell: `Hermes had to exit, because the plugin ${key} did not return; it is not loaded again until you run \`hermes plugins enable ${key}\`.\n`,
  }
}

function blockedFault(where: string, limitMs: number): string {
  return `it blocked Hermes for more than ${limitMs / 1000} s in ${where}`
}

/** How positions in its modules begin in a stack: as an address in ES modules, as a path in others. */
function addressesOf(directory: string): readonly string[] {
  const folders = [...new Set([directory, realpathSync(directory)])].map((folder) => `${folder}${sep}`)
  return folders.flatMap((folder) => [pathToFileURL(folder).href, folder])
}

function stackOf(error: unknown): string | undefined {
  try {
    return error instanceof Error ? error.stack : undefined
  } catch {
    // A plugin may throw an object that cannot be read.
    return undefined
  }
}
