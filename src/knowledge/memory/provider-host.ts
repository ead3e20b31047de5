import { assertNever } from "../../base/assert-never.ts"
import type { Clock } from "../../base/clock.ts"
import { isRecord } from "../../base/json.ts"
import type { Logger } from "../../base/logger.ts"
import { errorMessage } from "../../base/system-error.ts"
import { ellipsize } from "../../base/text.ts"
import { contentText, type Message } from "../../protocol/message.ts"
import type { ToolDefinition } from "../../protocol/tool.ts"
import { isolated, withinTime, type CallOutcome } from "./bounded-call.ts"
import { fenceMemory, sanitizeContext } from "./fence.ts"
import type { MemoryWrite } from "./memory-edit.ts"
import type { MemoryProvider, ProviderCall, ProviderContext, SessionSwitch, TurnFacts } from "./provider.ts"
import { createWorkQueue } from "./work-queue.ts"

/**
 * The provider of a session as the agent sees it: nothing here throws, and nothing waits longer than it says. A provider that
 * hangs or fails in every method costs a turn at most `PREFETCH_MS` and the end of a session at most `DRAIN_MS + SHUTDOWN_MS`.
 */
export interface ProviderHost {
  readonly name: string
  /** Starts the provider; to be called once, before anything else. A slow one goes on in the background. */
  initialize(): Promise<ProviderStart>
  /** Its part of the system prompt, or "". */
  promptBlock(): string
  /** What it knows about the person's message, fenced, or "". Takes at most 3 s; what comes later is used next time. */
  prefetch(userText: string): Promise<string>
  /** After a turn that was not interrupted; works in the background. */
  queueSync(turn: SyncedTurn): void
  onTurnStart(turn: number, message: string, facts: TurnFacts): void
  /** What must not be lost with these messages, or "". Takes at most 5 s. */
  onPreCompress(messages: readonly Message[]): Promise<string>
  onMemoryWrite(write: MemoryWrite): void
  onDelegation(task: string, result: string, options: { readonly childSessionId: string }): void
  onSessionSwitch(sessionId: string, how: SessionSwitch): void
  /** Empty when it did not start. To be offered only where the memory toolset is. */
  readonly tools: readonly ProviderTool[]
  /** When the background work is done, or after 5 s. */
  drain(): Promise<void>
  close(end: { readonly messages: readonly Message[] }): Promise<void>
}

export interface ProviderHostOptions {
  readonly provider: MemoryProvider
  readonly clock: Clock
  readonly log: Pick<Logger, "debug" | "warning">
  readonly context: ProviderContext
  /** Tool names that are taken: those of the core and of whoever came before. */
  readonly takenToolNames?: ReadonlySet<string>
}

/** `late`: it has not answered yet and is used as soon as it has. The message is for the person. */
export type ProviderStart =
  | { readonly kind: "ready" }
  | { readonly kind: "late" | "unavailable" | "failed"; readonly message: string }

export interface SyncedTurn {
  readonly user: string
  readonly assistant: string
  readonly messages: readonly Message[]
}

export interface ProviderTool {
  readonly definition: ToolDefinition
  /** JSON text for the model; a failure is JSON with `error`. */
  run(args: Readonly<Record<string, unknown>>, options: { readonly signal: AbortSignal }): Promise<string>
}

const INITIALIZE_MS = 3000
const PREFETCH_MS = 3000
const PRE_COMPRESS_MS = 5000
const TOOL_MS = 30_000
/** One piece of background work; a hung one must not hold up the rest for ever. */
const BACKGROUND_MS = 30_000
const DRAIN_MS = 5000
const SHUTDOWN_MS = 500
const MAX_RECALL_CHARS = 8000
const MAX_PROMPT_CHARS = 4000

export function createProviderHost(options: ProviderHostOptions): ProviderHost {
  return new Host(options)
}

class Host implements ProviderHost {
  readonly name: string
  readonly #options: ProviderHostOptions
  readonly #queue: ReturnType<typeof createWorkQueue>
  readonly #stop = new AbortController()
  #sessionId: string
  #tools: readonly ProviderTool[]
  #state: "new" | "starting" | "ready" | "off" = "new"
  #prefetching = false
  /** What a prefetch gave and nobody has taken yet, because it was late. */
  #recalled = ""
  #closing: Promise<void> | undefined

  constructor(options: ProviderHostOptions) {
    const { provider, context, log, clock } = options
    this.name = provider.name
    this.#options = options
    this.#sessionId = context.sessionId
    this.#queue = createWorkQueue({
      clock,
      limitMs: BACKGROUND_MS,
      onProblem: (what) => log.debug(`memory provider ${provider.name}: ${what}`),
    })
    this.#tools = this.#takeTools()
  }

  get tools(): readonly ProviderTool[] {
    return this.#tools
  }

  async initialize(): Promise<ProviderStart> {
    const { provider, context, clock } = this.#options
    const available = this.#guarded("isAvailable", () => provider.isAvailable())
    if (available !== true) {
      this.#state = "off"
      return this.#notStarted("unavailable", "is not set up; run `hermes memory setup` or `hermes memory off`")
    }
    this.#state = "starting"
    const starting = isolated(async () => await provider.initialize(context, { signal: this.#stop.signal }))
    const started = starting.then((outcome) => {
      if (this.#state === "starting") this.#state = outcome.kind === "done" ? "ready" : "off"
      return outcome
    })
    // Whatever is added now waits until the provider has started.
    this.#queue.add("initialize", () => started)
    const outcome = await withinTime(started, INITIALIZE_MS, { clock })
    switch (outcome.kind) {
      case "done":
        return { kind: "ready" }
      case "late":
        return this.#notStarted("late", `has not started within ${INITIALIZE_MS / 1000} s`)
      case "failed":
        return this.#notStarted("failed", `did not start: ${errorMessage(outcome.error)}`)
      default:
        return assertNever(outcome)
    }
  }

  promptBlock(): string {
    if (this.#state !== "ready") return ""
    const { provider } = this.#options
    return boundedText(
      this.#guarded("systemPromptBlock", () => provider.systemPromptBlock?.()),
      MAX_PROMPT_CHARS,
    )
  }

  async prefetch(userText: string): Promise<string> {
    const { provider, clock, log } = this.#options
    const late = this.#takeRecalled()
    const wanted = this.#state === "ready" && !this.#prefetching && provider.prefetch !== undefined
    if (!wanted) return fenceMemory(late)
    this.#prefetching = true
    const call = isolated(async () => await provider.prefetch?.(sanitizeContext(userText), this.#call()))
    const recalling = call.then((outcome) => {
      this.#prefetching = false
      this.#recalled = this.#textOf("prefetch", outcome)
      return outcome
    })
    const { kind } = await withinTime(recalling, PREFETCH_MS, { clock })
    if (kind === "late") log.debug(`memory provider ${this.name}: prefetch takes longer than ${PREFETCH_MS / 1000} s`)
    const recalled = kind === "late" ? "" : this.#takeRecalled()
    return fenceMemory([late, recalled].filter((text) => text !== "").join("\n\n"))
  }

  #takeRecalled(): string {
    const recalled = this.#recalled
    this.#recalled = ""
    return recalled
  }

  queueSync({ user, assistant, messages }: SyncedTurn): void {
    const { provider } = this.#options
    const [said, answered] = [sanitizeContext(user), sanitizeContext(assistant)]
    const call = this.#call()
    this.#write("syncTurn", async () => {
      await provider.syncTurn?.(said, answered, { ...call, messages: messages.map(withoutInjected) })
    })
    this.#later("queuePrefetch", () => provider.queuePrefetch?.(said, call))
  }

  onTurnStart(turn: number, message: string, facts: TurnFacts): void {
    if (this.#state !== "ready") return
    const { provider } = this.#options
    this.#guarded("onTurnStart", () => provider.onTurnStart?.(turn, sanitizeContext(message), facts))
  }

  async onPreCompress(messages: readonly Message[]): Promise<string> {
    const { provider, clock } = this.#options
    if (this.#state !== "ready" || provider.onPreCompress === undefined) return ""
    const given = messages.map(withoutInjected)
    const call = isolated(async () => await provider.onPreCompress?.(given, this.#call()))
    return this.#textOf("onPreCompress", await withinTime(call, PRE_COMPRESS_MS, { clock }))
  }

  onMemoryWrite(write: MemoryWrite): void {
    const { provider } = this.#options
    const text = write.action === "remove" ? write.oldText : write.content
    const sessionId = this.#sessionId
    this.#write("onMemoryWrite", () => provider.onMemoryWrite?.(write.action, write.target, text, { sessionId }))
  }

  onDelegation(task: string, result: string, child: { readonly childSessionId: string }): void {
    const { provider } = this.#options
    this.#write("onDelegation", () => provider.onDelegation?.(sanitizeContext(task), sanitizeContext(result), child))
  }

  onSessionSwitch(sessionId: string, how: SessionSwitch): void {
    const { provider } = this.#options
    this.#sessionId = sessionId
    this.#later("onSessionSwitch", () => provider.onSessionSwitch?.(sessionId, how))
  }

  async drain(): Promise<void> {
    await withinTime(
      isolated(async () => await this.#queue.idle()),
      DRAIN_MS,
      { clock: this.#options.clock },
    )
  }

  close(end: { readonly messages: readonly Message[] }): Promise<void> {
    return (this.#closing ??= this.#close(end.messages))
  }

  async #close(messages: readonly Message[]): Promise<void> {
    const { provider, clock } = this.#options
    const call = this.#call()
    this.#write("onSessionEnd", async () => await provider.onSessionEnd?.(messages.map(withoutInjected), call))
    await this.drain()
    this.#queue.stop()
    const started = this.#state === "ready" || this.#state === "starting"
    this.#state = "off"
    this.#stop.abort()
    if (!started) return
    const outcome = await withinTime(
      isolated(async () => await provider.shutdown?.()),
      SHUTDOWN_MS,
      { clock },
    )
    if (outcome.kind === "failed") this.#report("shutdown", outcome.error)
  }

  /** Only a primary session teaches the provider something. */
  #write(what: string, work: () => unknown): void {
    if (this.#options.context.agentContext === "primary") this.#later(what, work)
  }

  #later(what: string, work: () => unknown): void {
    if (this.#state === "new" || this.#state === "off" || this.#closing !== undefined) return
    this.#queue.add(what, async () => {
      if (this.#state === "ready") await work()
    })
  }

  #call(): ProviderCall {
    return { sessionId: this.#sessionId, signal: this.#stop.signal }
  }

  /** A method that answers at once. One that gives a promise against its type is not waited for. */
  #guarded(what: string, call: () => unknown): unknown {
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
    if (outcome.kind === "late") this.#options.log.debug(`memory provider ${this.name}: ${what} was too slow`)
    return outcome.kind === "done" ? boundedText(outcome.value, MAX_RECALL_CHARS) : ""
  }

  #notStarted(kind: "late" | "unavailable" | "failed", what: string): ProviderStart {
    const message = `memory provider ${this.name} ${what}`
    if (kind !== "late") this.#tools = []
    this.#options.log.warning(message)
    return { kind, message }
  }

  #report(what: string, error: unknown): void {
    this.#options.log.debug(`memory provider ${this.name}: ${what} failed: ${errorMessage(error)}`)
  }

  #takeTools(): readonly ProviderTool[] {
    const { provider, log, takenToolNames = new Set<string>() } = this.#options
    const schemas = this.#guarded("toolSchemas", () => provider.toolSchemas())
    const taken = new Set(takenToolNames)
    return (Array.isArray(schemas) ? schemas : []).flatMap((schema: unknown) => {
      if (!isDefinition(schema)) {
        log.warning(`memory provider ${this.name}: a tool without name, description and parameters was left out`)
        return []
      }
      if (taken.has(schema.name)) {
        log.warning(`memory provider ${this.name}: its tool ${schema.name} was left out, because the name is taken`)
        return []
      }
      taken.add(schema.name)
      return [{ definition: schema, run: this.#toolRun(schema.name) }]
    })
  }

  #toolRun(name: string): ProviderTool["run"] {
    return async (args, { signal }) => {
      const { provider, clock } = this.#options
      if (this.#state !== "ready") return toolError(`the memory provider ${this.name} is not ready; go on without it`)
      if (provider.handleTool === undefined) return toolError(`the memory provider ${this.name} cannot run ${name}`)
      const stop = AbortSignal.any([signal, this.#stop.signal])
      const call = isolated(async () => await provider.handleTool?.(name, args, { signal: stop }))
      const outcome = await withinTime(call, TOOL_MS, { clock, signal: stop })
      if (outcome.kind === "done") return typeof outcome.value === "string" ? outcome.value : ""
      if (outcome.kind === "failed") return toolError(`${name} failed: ${errorMessage(outcome.error)}`)
      return toolError(`${name} gave no answer in time; go on without it`)
    }
  }
}

/** Providers are somebody else's code: what they give is looked at, and it never carries a fence of its own. */
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

/** What Hermes added for the model is not the person's, and recalled memory must not be learnt again. */
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
