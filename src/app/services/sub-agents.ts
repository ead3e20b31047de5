import type { AgentEvent, SubagentOutcome, SubagentRole } from "../../protocol/events.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import { promptTokens } from "../../protocol/usage.ts"

/** One sub-agent, as the user sees it. */
export interface SubAgentRecord {
  /** `sa-<index>-<8 hex>`. */
  readonly id: string
  /** The sub-agent that started it; null when a conversation did. */
  readonly parentId: string | null
  readonly depth: number
  readonly goal: string
  readonly role: SubagentRole
  readonly model: string
  readonly toolsets: readonly string[]
  readonly sessionId: SessionId
  /** Set for one that works in the background. */
  readonly delegationId?: string
  readonly status: "running" | SubagentOutcome
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  readonly toolCount: number
  readonly lastTool: string | undefined
  readonly iteration: number
  readonly tokens: { readonly input: number; readonly output: number }
  /** Files that it has changed. */
  readonly files: readonly string[]
}

/** A record with the records of those that it started. */
export interface SubAgentNode extends SubAgentRecord {
  readonly children: readonly SubAgentNode[]
}

export interface SubAgentControls {
  interrupt(): void
  steer(text: string): boolean
}

/** The sub-agents of an app, running ones and some that have ended. */
export interface SubAgents {
  /** No sub-agent may be started. */
  readonly isPaused: boolean
  setPaused(paused: boolean): void
  /** Keeps one that runs, and all below it, from starting others. Returns false when it is not running. */
  pauseBranch(id: string, paused: boolean): boolean
  /** Whether the sub-agent with this id, or a conversation (null), may start none. */
  isPausedFor(id: string | null): boolean
  /** The current state as a tree, oldest first. */
  tree(): readonly SubAgentNode[]
  /** Ends one and everything that it started. Returns false when it is not running. */
  stop(id: string): boolean
  /** Ends all of them, or those in the background. Returns how many were running. */
  stopAll(which: "all" | "background"): number
  /** Adds a message of the user to the next iteration of one. Returns false when it is not running. */
  steer(id: string, text: string): boolean
  add(record: NewRecord, controls: SubAgentControls): TrackedSubAgent
  /** Work that must end before the app closes. */
  track(work: Promise<unknown>): void
  /** Results of background sub-agents for a session. `delivered` is called when the notice is taken. */
  notify(notice: DelegationNotice): void
  takeNotice(owner: string): string | undefined
  waitForNotice(owner: string, signal: AbortSignal): Promise<void>
  /** Ends all of them and waits. */
  close(): Promise<void>
}

type NewRecord = Omit<SubAgentRecord, "status" | "toolCount" | "lastTool" | "iteration" | "tokens" | "files">

export interface TrackedSubAgent {
  observe(event: AgentEvent): void
  end(status: SubagentOutcome): void
}

export interface DelegationNotice {
  readonly owner: string
  readonly text: string
  delivered(): void
}

const MAX_ENDED = 50

export function createSubAgents(): SubAgents {
  const records = new Map<string, { current: SubAgentRecord; readonly controls: SubAgentControls }>()
  const unfinished = new Set<Promise<unknown>>()
  const waiters = new Set<() => void>()
  let notices: readonly DelegationNotice[] = []
  let isPaused = false
  const pausedBranches = new Set<string>()
  const running = () => [...records.values()].filter(({ current }) => current.status === "running")
  const prune = (): void => {
    const ended = [...records.values()].filter(({ current }) => current.status !== "running")
    for (const { current } of ended.slice(0, Math.max(0, ended.length - MAX_ENDED))) records.delete(current.id)
  }
  const nodesBelow = (parentId: string | null): readonly SubAgentNode[] =>
    [...records.values()]
      .filter(({ current }) => current.parentId === parentId)
      .map(({ current }) => ({ ...current, children: nodesBelow(current.id) }))
  const stopAll: SubAgents["stopAll"] = (which) => {
    const stopped = running().filter(({ current }) => which === "all" || current.delegationId !== undefined)
    for (const { controls } of stopped) controls.interrupt()
    return stopped.length
  }
  return {
    get isPaused() {
      return isPaused
    },
    setPaused: (paused) => {
      isPaused = paused
      if (!paused) pausedBranches.clear()
    },
    pauseBranch: (id, paused) => {
      if (!running().some(({ current }) => current.id === id)) return false
      if (paused) pausedBranches.add(id)
      else pausedBranches.delete(id)
      return true
    },
    isPausedFor: (id) => {
      if (isPaused) return true
      for (let at = id; at !== null; at = records.get(at)?.current.parentId ?? null)
        if (pausedBranches.has(at)) return true
      return false
    },
    tree: () => nodesBelow(null),
    stop: (id) => {
      const found = running().find(({ current }) => current.id === id)
      found?.controls.interrupt()
      return found !== undefined
    },
    stopAll,
    steer: (id, text) =>
      running()
        .find(({ current }) => current.id === id)
        ?.controls.steer(text) ?? false,
    add: (record, controls) => {
      prune()
      const entry: { current: SubAgentRecord; readonly controls: SubAgentControls } = {
        current: { ...record, ...NOTHING_DONE },
        controls,
      }
      records.set(record.id, entry)
      return {
        observe: (event) => {
          entry.current = { ...entry.current, ...changeBy(event, entry.current) }
        },
        end: (status) => {
          entry.current = { ...entry.current, status }
        },
      }
    },
    track: (work) => {
      const tracked = work.catch(() => undefined).finally(() => unfinished.delete(tracked))
      unfinished.add(tracked)
    },
    notify: (notice) => {
      notices = [...notices, notice]
      for (const wake of waiters) wake()
    },
    takeNotice: (owner) => {
      const notice = notices.find((each) => each.owner === owner)
      notices = notices.filter((each) => each !== notice)
      notice?.delivered()
      return notice?.text
    },
    waitForNotice: async (owner, signal) => {
      while (!signal.aborted && !notices.some((notice) => notice.owner === owner)) {
        const { promise, resolve } = Promise.withResolvers<undefined>()
        const wake = (): void => {
          resolve(undefined)
        }
        waiters.add(wake)
        signal.addEventListener("abort", wake, { once: true })
        await promise
        signal.removeEventListener("abort", wake)
        waiters.delete(wake)
      }
    },
    close: async () => {
      stopAll("all")
      while (unfinished.size > 0) await Promise.all(unfinished)
    },
  }
}

const NOTHING_DONE = {
  status: "running",
  toolCount: 0,
  lastTool: undefined,
  iteration: 0,
  tokens: { input: 0, output: 0 },
  files: [],
} as const satisfies Partial<SubAgentRecord>

function changeBy(event: AgentEvent, record: SubAgentRecord): Partial<SubAgentRecord> {
  switch (event.type) {
    case "tool-start":
      return { toolCount: record.toolCount + 1, lastTool: event.call.name }
    case "tool-end":
      return { files: [...new Set([...record.files, ...(event.filesChanged ?? [])])] }
    case "usage":
      return {
        tokens: {
          input: record.tokens.input + promptTokens(event.usage),
          output: record.tokens.output + event.usage.output,
        },
      }
    case "status":
      return event.kind === "iteration" ? { iteration: record.iteration + 1 } : {}
    default:
      return {}
  }
}
