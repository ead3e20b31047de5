import { assertNever } from "../../base/assert-never.ts"
import type { Clock } from "../../base/clock.ts"
import { isRecord } from "../../base/json.ts"
import type { Logger } from "../../base/logger.ts"
import { errorMessage } from "../../base/system-error.ts"
import { ellipsize } from "../../base/text.ts"
import { contentText, type Message } from "../../protocol/message.ts"
import type { ToolDefinition } from "../../protocol/tool.ts"
import { captureOutcome, withTimeout, type CallOutcome } from "./call-outcome.ts"
import { fenceMemory, sanitizeContext } from "./fence.ts"
import type { MemoryWrite } from "./memory-edit.ts"
import type {
  MemoryProvider,
  MemoryProviderCall,
  MemoryProviderContext,
  SessionSwitch,
  TurnFacts,
} from "./memory-provider.ts"
import { createWorkQueue } from "./work-queue.ts"

/**
 * Calls the memory provider of a session with time limits; never throws. A memory provider that hangs or fails in every method delays
 * a turn by at most `PREFETCH_MS` and the end of a session by at most `DRAIN_MS + SHUTDOWN_MS`.
 */
export interface MemoryProviderHost {
  readonly name: string
  /** Starts the memory provider. Must be called once, before anything else. A slow start continues in the background. */
  initialize(): Promise<MemoryProviderStart>
  /** Returns its part of the system prompt, or "". */
  promptBlock(): string
  /** Returns what it knows about a user message, fenced, or "". Takes at most 3 s; a later result is used next time. */
  prefetch(userText: string): Promise<string>
  /** Call after a turn that was not interrupted. Works in the background. */
  queueSync(turn: SyncedTurn): void
  onTurnStart(turn: number, message: string, facts: TurnFacts): void
  /** Returns what must be preserved of these messages, or "". Takes at most 5 s. */
  onPreCompress(messages: readonly Message[]): Promise<string>
  onMemoryWrite(write: MemoryWrite): void
  onDelegation(task: string, result: string, options: { readonly childSessionId: string }): void
  onSessionSwitch(sessionId: string, how: SessionSwitch): void
  /** Empty when it did not start. Offer them only together with the memory toolset. */
  readonly tools: readonly MemoryProviderTool[]
  /** Resolves when the background work is done, or after 5 s. */
  drain(): Promise<void>
  close(end: { readonly messages: readonly Message[] }): Promise<void>
}

export interface MemoryProviderHostOptions {
  readonly memoryProvider: MemoryProvider
  readonly clock: Clock
  readonly log: Pick<Logger, "debug" | "warning">
  readonly context: MemoryProviderContext
  /** Names of existing tools. */
  readonly takenToolNames?: ReadonlySet<string>
}

/** `late`: it is still starting, and is used as soon as it is ready. The message is for the user. */
export type MemoryProviderStart =
  | { readonly kind: "ready" }
  | { readonly kind: "late" | "unavailable" | "failed"; readonly message: string }

export interface SyncedTurn {
  readonly user: string
  readonly assistant: string
  readonly messages: readonly Message[]
}

export interface MemoryProviderTool {
  readonly definition: ToolDefinition
  /** Returns JSON for the model; on failure JSON with `error`. */
  run(args: Readonly<Record<string, unknown>>, options: { readonly signal: AbortSignal }): Promise<string>
}

const INITIALIZE_MS = 3000
const PREFETCH_MS = 3000
const PRE_COMPRESS_MS = 5000
const TOOL_MS = 30_000
/** Limit for one background task, so that a hanging one does not block the others. */
const BACKGROUND_MS = 30_000
const DRAIN_MS = 5000
const SHUTDOWN_MS = 500
const MAX_RECALL_CHARS = 8000
const MAX_PROMPT_CHARS = 4000

export function createMemoryProviderHost(options: MemoryProviderHostOptions): MemoryProviderHost {
  return new Host(options)
}

class Host implements MemoryProviderHost {
  readonly name: string
  readonly #options: MemoryProviderHostOptions
  readonly #queue: ReturnType<typeof createWorkQueue>
  readonly #stop = new AbortController()
  #sessionId: string
  #tools: readonly MemoryProviderTool[]
  #state: "new" | "starting" | "ready" | "off" = "new"
  #prefetching = false
  /** The result of a prefetch that came too late, until the next one returns it. */
  #recalled = ""
  #closing: Promise<void> | undefined

  constructor(options: MemoryProviderHostOptions) {
    const { memoryProvider, context, log, clock } = options
    this.name = memoryProvider.name
    this.#options = options
    this.#sessionId = context.sessionId
    this.#queue = createWorkQueue({
      clock,
      timeoutMs: BACKGROUND_MS,
      onProblem: (what) => log.debug(`memory provider ${memoryProvider.name}: ${what}`),
    })
    this.#tools = this.#readTools()
  }

  get tools(): readonly MemoryProviderTool[] {
    return this.#tools
  }

  async initialize(): Promise<MemoryProviderStart> {
    const { memoryProvider, context, clock } = this.#options
    const available = this.#callSafely("isAvailable", () => memoryProvider.isAvailable())
    if (available !== true) {
      this.#state = "off"
      return this.#notStarted("unavailable", "is not configured. Run `hermes memory setup` or `hermes memory off`")
    }
    this.#state = "starting"
    const starting = captureOutcome(async () => await memoryProvider.initialize(context, { signal: this.#stop.signal }))
    const started = starting.then((outcome) => {
      if (this.#state === "starting") this.#state = outcome.kind === "done" ? "ready" : "off"
      return outcome
    })
    // Tasks that are added now wait until the memory provider has started.
    this.#queue.add("initialize", () => started)
    const outcome = await withTimeout(started, INITIALIZE_MS, { clock })
    switch (outcome.kind) {
      case "done":
        return { kind: "ready" }
      case "timed-out":
        return this.#notStarted("late", `has not started within ${INITIALIZE_MS / 1000} s`)
      case "failed":
        return this.#notStarted("failed", `failed to start: ${errorMessage(outcome.error)}`)
      default:
        return assertNever(outcome)
    }
  }

  promptBlock(): string {
    if (this.#state !== "ready") return ""
    const { memoryProvider } = this.#options
    return boundedText(
      this.#callSafely("systemPromptBlock", () => memoryProvider.systemPromptBlock?.()),
      MAX_PROMPT_CHARS,
    )
  }

  async prefetch(userText: string): Promise<string> {
    const { memoryProvider, clock, log } = this.#options
    const late = this.#takeRecalled()
    const canPrefetch = this.#state === "ready" && !this.#prefetching && memoryProvider.prefetch !== undefined
    if (!canPrefetch) return fenceMemory(late)
    this.#prefetching = true
    const call = captureOutcome(async () => await memoryProvider.prefetch?.(sanitizeContext(userText), this.#call()))
    const recalling = call.then((outcome) => {
      this.#prefetching = false
      this.#recalled = this.#textOf("prefetch", outcome)
      return outcome
    })
    const { kind } = await withTimeout(recalling, PREFETCH_MS, { clock })
    if (kind === "timed-out")
      log.debug(`memory provider ${this.name}: prefetch takes longer than ${PREFETCH_MS / 1000} s`)
    const recalled = kind === "timed-out" ? "" : this.#takeRecalled()
    return fenceMemory([late, recalled].filter((text) => text !== "").join("\n\n"))
  }

  #takeRecalled(): string {
    const recalled = this.#recalled
    this.#recalled = ""
    return recalled
  }

  queueSync({ user, assistant, messages }: SyncedTurn): void {
    const { memoryProvider } = this.#options
    const [userText, assistantText] = [sanitizeContext(user), sanitizeContext(assistant)]
    const call = this.#call()
    this.#queueWrite("syncTurn", async () => {
      await memoryProvider.syncTurn?.(userText, assistantText, { ...call, messages: messages.map(withoutInjected) })
    })
    this.#enqueue("queuePrefetch", () => memoryProvider.queuePrefetch?.(userText, call))
  }

  onTurnStart(turn: number, message: string, facts: TurnFacts): void {
    if (this.#state !== "ready") return
    const { memoryProvider } = this.#options
    this.#callSafely("onTurnStart", () => memoryProvider.onTurnStart?.(turn, sanitizeContext(message), facts))
  }

  async onPreCompress(messages: readonly Message[]): Promise<string> {
    const { memoryProvider, clock } = this.#options
    if (this.#state !== "ready" || memoryProvider.onPreCompress === undefined) return ""
    const given = messages.map(withoutInjected)
    const call = captureOutcome(async () => await memoryProvider.onPreCompress?.(given, this.#call()))
    return this.#textOf("onPreCompress", await withTimeout(call, PRE_COMPRESS_MS, { clock }))
  }

  onMemoryWrite(write: MemoryWrite): void {
    const { memoryProvider } = this.#options
    const text = write.action === "remove" ? write.oldText : write.content
    const sessionId = this.#sessionId
    this.#queueWrite("onMemoryWrite", () =>
      memoryProvider.onMemoryWrite?.(write.action, write.target, text, { sessionId }),
    )
  }

  onDelegation(task: string, result: string, child: { readonly childSessionId: string }): void {
    const { memoryProvider } = this.#options
    this.#queueWrite("onDelegation", () =>
      memoryProvider.onDelegation?.(sanitizeContext(task), sanitizeContext(result), child),
    )
  }

  onSessionSwitch(sessionId: string, how: SessionSwitch): void {
    const { memoryProvider } = this.#options
    this.#sessionId = sessionId
    this.#enqueue("onSessionSwitch", () => memoryProvider.onSessionSwitch?.(sessionId, how))
  }

  async drain(): Promise<void> {
    await withTimeout(
      captureOutcome(async () => await this.#queue.idle()),
      DRAIN_MS,
      { clock: this.#options.clock },
    )
  }

  close(end: { readonly messages: readonly Message[] }): Promise<void> {
    return (this.#closing ??= this.#close(end.messages))
  }

  async #close(messages: readonly Message[]): Promise<void> {
    const { memoryProvider, clock } = this.#options
    const call = this.#call()
    this.#queueWrite(
      "onSessionEnd",
      async () => await memoryProvider.onSessionEnd?.(messages.map(withoutInjected), call),
    )
    await this.drain()
    this.#queue.stop()
    const started = this.#state === "ready" || this.#state === "starting"
    this.#state = "off"
    this.#stop.abort()
    if (!started) return
    const outcome = await withTimeout(
      captureOutcome(async () => await memoryProvider.shutdown?.()),
      SHUTDOWN_MS,
      { clock },
    )
    if (outcome.kind === "failed") this.#report("shutdown", outcome.error)
  }

  /** Queues work that only primary sessions may do. */
  #queueWrite(what: string, work: () => unknown): void {
    if (this.#options.context.agentContext === "primary") this.#enqueue(what, work)
  }

  #enqueue(what: string, work: () => unknown): void {
    if (this.#state === "new" || this.#state === "off" || this.#closing !== undefined) return
    this.#queue.add(what, async () => {
      if (this.#state === "ready") await work()
    })
  }

  #call(): MemoryProviderCall {
    return { sessionId: this.#sessionId, signal: this.#stop.signal }
  }

  /** Calls a synchronous method and logs its errors. Does not wait when it returns a promise despite its type. */
  #callSafely(what: string, call: () => unknown): unknown {
    try {
      const value = call()
      if (value instanceof Promise) value.catch((error: unknown) => this.#report(what, error))
      return value
    } catch (error) {
      this.#report(what, error)
      return undefined
    }
  }

  #textOf(what: string, outcome: CallOutcome<string | undefined>): string {
    if (outcome.kind === "failed") this.#report(what, outcome.error)
    if (outcome.kind === "timed-out") this.#options.log.debug(`memory provider ${this.name}: ${what} timed out`)
    return outcome.kind === "done" ? boundedText(outcome.value, MAX_RECALL_CHARS) : ""
  }

  #notStarted(kind: "late" | "unavailable" | "failed", what: string): MemoryProviderStart {
    const message = `the memory provider ${this.name} ${what}`
    if (kind !== "late") this.#tools = []
    this.#options.log.warning(message)
    return { kind, message }
  }

  #report(what: string, error: unknown): void {
    this.#options.log.debug(`memory provider ${this.name}: ${what} failed: ${errorMessage(error)}`)
  }

  #readTools(): readonly MemoryProviderTool[] {
    const { memoryProvider, log, takenToolNames = new Set<string>() } = this.#options
    const schemas = this.#callSafely("toolSchemas", () => memoryProvider.toolSchemas())
    const taken = new Set(takenToolNames)
    return (Array.isArray(schemas) ? schemas : []).flatMap((schema: unknown) => {
      if (!isDefinition(schema)) {
        log.warning(`memory provider ${this.name}: ignored a tool without name, description and parameters`)
        return []
      }
      if (taken.has(schema.name)) {
        log.warning(`memory provider ${this.name}: ignored its tool ${schema.name}, because the name is taken`)
        return []
      }
      taken.add(schema.name)
      return [{ definition: schema, run: this.#toolRun(schema.name) }]
    })
  }

  #toolRun(name: string): MemoryProviderTool["run"] {
    return async (args, { signal }) => {
      const { memoryProvider, clock } = this.#options
      if (this.#state !== "ready")
        return toolError(`the memory provider ${this.name} is not ready; continue without it`)
      if (memoryProvider.handleTool === undefined)
        return toolError(`the memory provider ${this.name} cannot run ${name}`)
      const stop = AbortSignal.any([signal, this.#stop.signal])
      const call = captureOutcome(async () => await memoryProvider.handleTool?.(name, args, { signal: stop }))
      const outcome = await withTimeout(call, TOOL_MS, { clock, signal: stop })
      if (outcome.kind === "done") return typeof outcome.value === "string" ? outcome.value : ""
      if (outcome.kind === "failed") return toolError(`${name} failed: ${errorMessage(outcome.error)}`)
      return toolError(`${name} timed out; continue without it`)
    }
  }
}

/** Third-party code may return anything: accepts only strings, without fences and within the limit. */
function boundedText(value: unknown, maxChars: number): string {
  return typeof value === "string" ? ellipsize(sanitizeContext(value).trim(), maxChars, " […]") : ""
}

function isDefinition(value: unknown): value is ToolDefinition {
  return (
    isRecord(value) &&
    typeof value["name"] === "string" &&
    /^\w{1,64}$/.test(value["name"]) &&
    typeof value["description"] === "string" &&
    isRecord(value["parameters"])
  )
}

function toolError(error: string): string {
  return JSON.stringify({ error })
}

/** Removes what Hermes added for the model: recalled memory must not be stored again. */
function withoutInjected(message: Message): Message {
  if (message.role === "system") return message
  const { injected: _injected, ...kept } = message
  if (kept.role === "tool" || !/<\/?\s*memory-context/i.test(contentText(kept.content))) return kept
  const { content } = kept
  if (content === null) return kept
  const clean =
    typeof content === "string"
      ? sanitizeContext(content)
      : content.map((part) => (part.type === "text" ? { ...part, text: sanitizeContext(part.text) } : part))
  return { ...kept, content: clean }
}
