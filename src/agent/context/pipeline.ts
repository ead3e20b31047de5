import type { Message } from "../../protocol/message.ts"
import type { DigestedCall } from "../../toolkit/tool.ts"
import { repairSequence } from "../history.ts"
import { reduceResults, unseenResults } from "./budget-reduction.ts"
import { rearrange } from "./draft.ts"
import type { Draft } from "./draft.ts"
import type { CompressOptions } from "./engine.ts"
import type { Estimator } from "./estimate.ts"
import { microcompact, pruneResults } from "./microcompact.ts"
import { pinsOf } from "./pinning.ts"
import { protectionOf } from "./protection.ts"
import type { Protection } from "./protection.ts"
import { oldestRounds, removeRounds, staleRounds } from "./round-removal.ts"
import { roundsOf } from "./rounds.ts"
import type { Round } from "./rounds.ts"
import type { Spill } from "./shortened-result.ts"
import type { Summariser } from "./summary/summariser.ts"
import { withWholePairs } from "./tool-pairs.ts"
import { isValidHistory } from "./validity.ts"
import type { CompressionSettings, WindowBudget } from "./window-budget.ts"

export interface PipelineParts {
  readonly settings: CompressionSettings
  readonly budget: WindowBudget
  /** Tokens the messages may take. */
  readonly room: number
  readonly estimator: Estimator
  readonly digest: (call: DigestedCall) => string
  readonly redact: (text: string) => string
  readonly spill: Spill
  readonly summariser: Summariser
  readonly request: CompressOptions
}

export interface PipelineResult {
  readonly draft: Draft
  /** Those that did something, in ascending order. */
  readonly layersRun: readonly number[]
  readonly droppedRounds: number
  readonly fallback: boolean
  readonly aborted: boolean
  readonly error?: string
}

/** Runs the layers, cheapest first, and stops as soon as the messages fit. */
export async function runPipeline(draft: Draft, parts: PipelineParts): Promise<PipelineResult> {
  const work = new Work(draft, parts)
  for (const layer of LAYERS) {
    if (work.fits() || work.isOver()) break
    await layer(work)
  }
  return work.result()
}

/** Layer 5 alone, for those who want a summary and nothing else. */
export async function runSummary(draft: Draft, parts: PipelineParts): Promise<PipelineResult> {
  const work = new Work(draft, parts)
  await summarise(work)
  // What the person wants to keep word for word is not squeezed.
  const verbatim = parts.request.keepExchanges !== undefined
  if (!verbatim && !work.isOver() && work.size() + parts.request.overheadTokens > parts.budget.threshold) {
    await squeeze(work)
  }
  return work.result()
}

type Layer = (work: Work) => Promise<void>

/** What layer 1 may still do with unseen results, and what a summary would do with old ones, come before the summary itself. */
const LAYERS: readonly Layer[] = [
  reduceSeen,
  snip,
  compact,
  truncate,
  reduceUnseen,
  prune,
  truncateAfterPruning,
  spareTheSummary,
  summarise,
  squeeze,
]

class Work {
  readonly parts: PipelineParts
  draft: Draft
  readonly #valid: boolean
  readonly #layers = new Set<number>()
  #dropped = 0
  #fallback = false
  #aborted = false
  #error: string | undefined

  constructor(draft: Draft, parts: PipelineParts) {
    this.draft = draft
    this.parts = parts
    this.#valid = isValidHistory(draft.messages)
  }

  size(): number {
    return this.parts.estimator.messages(this.draft.messages)
  }

  fits(): boolean {
    return this.size() <= this.parts.room
  }

  isOver(): boolean {
    return this.#aborted
  }

  has(layer: number): boolean {
    return this.#layers.has(layer)
  }

  protection(): Protection {
    const { settings, budget, room, estimator } = this.parts
    return protectionOf(this.draft.messages, { settings, small: budget.small, room, estimator })
  }

  /** One result must not fill a small window on its own. */
  resultLimit(): number {
    const { settings, budget, room } = this.parts
    if (!budget.small) return settings.budgetReduceLimit
    return Math.min(settings.budgetReduceLimit, Math.max(SMALLEST_RESULT, Math.floor(room / 4)))
  }

  /** A layer that only changed contents. */
  reshaped(layer: number, draft: Draft): void {
    if (draft === this.draft) return
    this.draft = draft
    this.#layers.add(layer)
  }

  /** A layer that removed messages. What it made of a valid history must be valid and smaller, or nothing of it is kept. */
  removed(layer: number, draft: Draft, rounds: number): boolean {
    const repaired = repairSequence(withWholePairs(draft.messages)).messages
    const next = repaired === draft.messages ? draft : rearrange(draft, repaired)
    if (this.#valid && !isValidHistory(next.messages)) {
      this.#error = `layer ${layer} of the compression made an invalid history and was undone; please report this`
      return false
    }
    if (this.parts.estimator.messages(next.messages) >= this.size()) return false
    this.draft = next
    this.#layers.add(layer)
    this.#dropped += rounds
    return true
  }

  summarised(summary: { readonly fallback: boolean; readonly error?: string }): void {
    this.#fallback = summary.fallback
    this.#error = summary.error ?? this.#error
  }

  abort(error?: string): void {
    this.#aborted = true
    this.#error = error
  }

  result(): PipelineResult {
    return {
      draft: this.draft,
      layersRun: [...this.#layers].toSorted((a, b) => a - b),
      droppedRounds: this.#dropped,
      fallback: this.#fallback,
      aborted: this.#aborted,
      ...(this.#error === undefined ? {} : { error: this.#error }),
    }
  }
}

async function reduceSeen(work: Work): Promise<void> {
  const { pins } = work.protection()
  const unseen = unseenResults(work.draft.messages)
  await reduce(work, (message) => pins.all.has(message) || unseen.has(message))
}

/** The same for results the model has not seen: better a part of them than none. */
async function reduceUnseen(work: Work): Promise<void> {
  const { pins } = work.protection()
  const unseen = unseenResults(work.draft.messages)
  await reduce(work, (message) => pins.plans.has(message) || (pins.all.has(message) && !unseen.has(message)))
}

async function reduce(
  work: Work,
  spare: (message: Message) => boolean,
  limitTokens = work.resultLimit(),
): Promise<void> {
  work.reshaped(1, await reduceResults(work.draft, { limitTokens, spare, spill: work.parts.spill }))
}

async function snip(work: Work): Promise<void> {
  const { settings, estimator } = work.parts
  const rounds = staleRounds(work.draft.messages, {
    protection: work.protection(),
    staleAfter: settings.snipStaleAfter,
    estimator,
  })
  if (rounds.length > 0) await remove(work, 2, rounds)
}

async function compact(work: Work): Promise<void> {
  const { tailStart, pins } = work.protection()
  work.reshaped(3, microcompact(work.draft, { tailStart, pinned: pins.all, digest: digestOf(work) }))
  await Promise.resolve()
}

async function truncate(work: Work, maxLoss = work.parts.settings.hardTruncateMaxLoss): Promise<void> {
  const { room, estimator } = work.parts
  const rounds = oldestRounds(work.draft, {
    protection: work.protection(),
    room,
    estimator,
    maxLoss,
    note: noteOptions(work),
  })
  if (rounds !== undefined) await remove(work, 4, rounds)
}

async function prune(work: Work): Promise<void> {
  work.reshaped(3, pruned(work))
  await Promise.resolve()
}

function pruned(work: Work): Draft {
  const { tailStart, pins } = work.protection()
  const start = Math.min(tailStart, tailStartByTokens(work))
  return pruneResults(work.draft, { tailStart: start, pinned: pins.all, digest: digestOf(work) })
}

async function truncateAfterPruning(work: Work): Promise<void> {
  if (!work.has(4)) await truncate(work)
}

/**
 * A summary costs a call and the details, so shorter results come first. A small window fills again after a few rounds and has
 * little room beside a summary: there even unseen results give way, and more of the middle.
 */
async function spareTheSummary(work: Work): Promise<void> {
  const { budget, settings } = work.parts
  const maxLoss = budget.small
    ? Math.max(settings.hardTruncateMaxLoss, SMALL_WINDOW_LOSS)
    : settings.hardTruncateMaxLoss
  for (const which of budget.small ? (["seen", "all"] as const) : (["seen"] as const)) {
    await shrinkResults(work, which, work.resultLimit() / 4)
    if (work.fits()) return
    await truncate(work, maxLoss)
    if (work.fits()) return
  }
}

const SMALL_WINDOW_LOSS = 0.9

async function remove(work: Work, layer: 2 | 4, rounds: readonly Round[]): Promise<void> {
  const doomed = rounds.flatMap(({ start, end }) => work.draft.messages.slice(start, end))
  const hint = await hintFor(doomed, layer, work.parts.request)
  work.removed(layer, removeRounds(work.draft, rounds, { ...noteOptions(work), hint }), rounds.length)
}

/** The memory must not be able to stop a compression. */
async function hintFor(doomed: readonly Message[], layer: 2 | 4, request: CompressOptions): Promise<string> {
  try {
    return await request.beforeLoss(doomed, layer)
  } catch {
    return ""
  }
}

async function summarise(work: Work): Promise<void> {
  const { summariser, settings, budget, room, request } = work.parts
  const { head, tailStart } = work.protection()
  const draft = request.keepExchanges === undefined ? pruned(work) : work.draft
  const summary = await summariser.run(draft, {
    head,
    protectLastN: budget.small ? draft.messages.length - tailStart : settings.protectLastN,
    pins: pinsOf(draft.messages, { head, planPriority: settings.planPriority }),
    budget,
    room,
    options: request,
  })
  switch (summary.kind) {
    case "nothing":
      return
    case "aborted":
      work.abort(summary.error)
      return
    case "done":
      if (work.removed(5, summary.draft, roundsOf(summary.removed).length)) work.summarised(summary)
  }
}

const SMALLEST_RESULT = 100

/**
 * The last resort, when even the newest messages do not fit: shorter results everywhere, the newest last. Plans and what the
 * person said stay as they are.
 */
async function squeeze(work: Work): Promise<void> {
  await shrinkResults(work, "seen")
  if (work.fits()) return
  const { pins } = work.protection()
  const messages = work.draft.messages
  const pinned = new Set([...pins.plans, ...unseenResults(messages), ...messages.filter(({ role }) => role === "user")])
  const tailStart = roundsOf(messages).at(-1)?.start ?? 0
  work.reshaped(3, pruneResults(work.draft, { tailStart, pinned, digest: digestOf(work) }))
  await shrinkResults(work, "all")
}

/** Halves what one result may take until the messages fit. */
async function shrinkResults(work: Work, which: "seen" | "all", smallest = SMALLEST_RESULT): Promise<void> {
  const floor = Math.max(smallest, SMALLEST_RESULT)
  for (let limit = work.resultLimit(); limit >= floor && !work.fits(); limit = Math.floor(limit / 2)) {
    const { pins } = work.protection()
    const unseen = unseenResults(work.draft.messages)
    await reduce(work, (message) => pins.plans.has(message) || (which === "seen" && unseen.has(message)), limit)
  }
}

/** Where the newest messages begin that fit the tail's share of the window. */
function tailStartByTokens({ draft, parts }: Work): number {
  let tokens = 0
  let start = draft.messages.length
  for (const message of draft.messages.toReversed()) {
    tokens += parts.estimator.inTail(message)
    if (tokens > parts.budget.tail) break
    start -= 1
  }
  return start
}

function digestOf({ parts }: Work): (call: DigestedCall) => string {
  return (call) => parts.redact(parts.digest(call))
}

const TOKENS_PER_LINE = 40
const NOTE_SHARE = 0.06

function noteOptions({ parts }: Work): {
  readonly sessionId: string
  readonly digest: (call: DigestedCall) => string
  readonly redact: (text: string) => string
  readonly maxLines: number
} {
  const fitting = parts.budget.small ? Math.floor((NOTE_SHARE * parts.room) / TOKENS_PER_LINE) : Infinity
  return {
    sessionId: parts.request.sessionId,
    digest: parts.digest,
    redact: parts.redact,
    maxLines: Math.max(2, fitting),
  }
}
