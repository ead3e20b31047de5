import type { Message } from "../../protocol/message.ts"
import type { DigestedCall } from "../../toolkit/tool.ts"
import { repairOrder } from "../history-repair.ts"
import { reduceResults, unseenResults } from "./budget-reduction.ts"
import { replaceDraftMessages } from "./history-draft.ts"
import type { HistoryDraft } from "./history-draft.ts"
import type { CompressOptions } from "./context-engine.ts"
import type { Estimator } from "./token-estimate.ts"
import { microcompact, pruneResults } from "./microcompact.ts"
import type { CompactOptions } from "./microcompact.ts"
import { findPinnedMessages } from "./pinned-messages.ts"
import { protectionOf } from "./protection.ts"
import type { Protection } from "./protection.ts"
import { oldestRounds, removeRounds, shrinkNotes, staleRounds } from "./round-removal.ts"
import type { NoteOptions } from "./round-removal.ts"
import { roundsOf } from "./rounds.ts"
import type { Round } from "./rounds.ts"
import type { Spill } from "./shortened-result.ts"
import type { Summariser } from "./summary/summariser.ts"
import { withWholePairs } from "./tool-pairs.ts"
import { isValidHistory } from "./history-validity.ts"
import { wordsBudget } from "./user-words.ts"
import type { CompressionSettings, WindowBudget } from "./window-budget.ts"

export interface PipelineParts {
  readonly settings: CompressionSettings
  readonly budget: WindowBudget
  /** Tokens the messages may take. */
  readonly room: number
  /** Tokens they take after a removal. */
  readonly aim: number
  readonly estimator: Estimator
  readonly digest: (call: DigestedCall) => string
  /** Whether a newer result of an equal call makes an older one obsolete, by tool name. */
  readonly newestResultOnly: (tool: string) => boolean
  readonly redact: (text: string) => string
  readonly spill: Spill
  readonly summariser: Summariser
  readonly request: CompressOptions
}

export interface PipelineResult {
  readonly draft: HistoryDraft
  /** The layers that changed something, in ascending order. */
  readonly layersRun: readonly number[]
  readonly droppedRounds: number
  readonly fallback: boolean
  readonly aborted: boolean
  readonly error?: string
}

/** Runs the layers, cheapest first, and stops as soon as the messages fit. */
export async function runPipeline(draft: HistoryDraft, parts: PipelineParts): Promise<PipelineResult> {
  const run = new PipelineRun(draft, parts)
  for (const layer of LAYERS) {
    if (run.isDone() || run.isAborted()) break
    await layer(run)
  }
  return run.result()
}

/** Layer 5 alone, for the `summarize` strategy and manual requests. */
export async function runSummary(draft: HistoryDraft, parts: PipelineParts): Promise<PipelineResult> {
  const run = new PipelineRun(draft, parts)
  await summarise(run)
  // Exchanges that the user wants to keep are not shortened.
  const verbatim = parts.request.keepExchanges !== undefined
  if (!verbatim && !run.isAborted() && run.size() + parts.request.overheadTokens > parts.budget.threshold) {
    await shrinkEverything(run)
  }
  return run.result()
}

type Layer = (run: PipelineRun) => Promise<void>

/** A summary costs a model call and details, so everything that can make it unnecessary runs before it. */
const LAYERS: readonly Layer[] = [
  reduceSeen,
  removeStaleRounds,
  compactOldMessages,
  removeOldestRounds,
  reduceUnseen,
  pruneOldResults,
  removeOldestAfterPruning,
  shrinkInsteadOfSummary,
  shortenNotes,
  summarise,
  shrinkEverything,
]

class PipelineRun {
  readonly parts: PipelineParts
  draft: HistoryDraft
  readonly #valid: boolean
  readonly #layers = new Set<number>()
  #dropped = 0
  #triedOldest = false
  #fallback = false
  #aborted = false
  #error: string | undefined

  constructor(draft: HistoryDraft, parts: PipelineParts) {
    this.draft = draft
    this.parts = parts
    this.#valid = isValidHistory(draft.messages)
  }

  size(): number {
    return this.parts.estimator.messages(this.draft.messages)
  }

  sizeOf({ messages }: HistoryDraft): number {
    return this.parts.estimator.messages(messages)
  }

  fits(): boolean {
    return this.size() <= this.parts.room
  }

  /** After a removal of stale rounds the run goes on until the aim is reached or the oldest rounds were tried. */
  isDone(): boolean {
    if (!this.fits()) return false
    return !this.has(2) || this.#triedOldest || this.size() <= this.parts.aim
  }

  oldestTried(): void {
    this.#triedOldest = true
  }

  isAborted(): boolean {
    return this.#aborted
  }

  has(layer: number): boolean {
    return this.#layers.has(layer)
  }

  protection(): Protection {
    const { settings, budget, room, estimator } = this.parts
    return protectionOf(this.draft.messages, { settings, small: budget.small, room, estimator })
  }

  /** When the last messages alone exceed the aim, fewer of them are protected, or the next removal would follow at once. */
  removalProtection(): Protection {
    const { settings, budget, aim, estimator } = this.parts
    const { messages } = this.draft
    const usual = protectionOf(messages, { settings, small: budget.small, room: aim, estimator })
    const size = estimator.messages(messages.slice(0, usual.head)) + estimator.messages(messages.slice(usual.tailStart))
    if (budget.small || size <= aim) return usual
    return protectionOf(messages, { settings, small: true, room: aim, estimator })
  }

  /** One result must not fill a small window on its own. */
  resultLimit(): number {
    const { settings, budget, room } = this.parts
    if (!budget.small) return settings.budgetReduceLimit
    return Math.min(settings.budgetReduceLimit, Math.max(SMALLEST_RESULT, Math.floor(room / 4)))
  }

  /** Adopts the result of a layer that only changed contents. */
  applyChange(layer: number, draft: HistoryDraft): void {
    if (draft === this.draft) return
    this.draft = draft
    this.#layers.add(layer)
  }

  /** Adopts the result of a layer that removed messages, unless it is invalid or not smaller. */
  applyRemoval(layer: number, draft: HistoryDraft, rounds: number): boolean {
    const repaired = repairOrder(withWholePairs(draft.messages))
    const next = repaired === draft.messages ? draft : replaceDraftMessages(draft, repaired)
    if (this.#valid && !isValidHistory(next.messages)) {
      this.#error = `compression layer ${layer} produced an invalid history and was undone; please report this`
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

async function reduceSeen(run: PipelineRun): Promise<void> {
  const { pins } = run.protection()
  const unseen = unseenResults(run.draft.messages)
  await reduce(run, (message) => pins.all.has(message) || unseen.has(message))
}

/** The same for results that the model has not seen yet: a part of them is better than a removal. */
async function reduceUnseen(run: PipelineRun): Promise<void> {
  const { pins } = run.protection()
  const unseen = unseenResults(run.draft.messages)
  await reduce(run, (message) => pins.plans.has(message) || (pins.all.has(message) && !unseen.has(message)))
}

async function reduce(
  run: PipelineRun,
  exempt: (message: Message) => boolean,
  limitTokens = run.resultLimit(),
): Promise<void> {
  run.applyChange(1, await reduceResults(run.draft, { limitTokens, exempt, spill: run.parts.spill }))
}

async function removeStaleRounds(run: PipelineRun): Promise<void> {
  const { settings, aim, estimator } = run.parts
  const rounds = staleRounds(run.draft, {
    protection: run.removalProtection(),
    staleAfter: settings.snipStaleAfter,
    aim,
    estimator,
    note: noteOptions(run),
  })
  if (rounds.length > 0) await remove(run, 2, rounds)
}

async function compactOldMessages(run: PipelineRun): Promise<void> {
  const { tailStart, pins } = run.protection()
  run.applyChange(3, microcompact(run.draft, { ...compactOptions(run), tailStart, pinned: pins.all }))
  await Promise.resolve()
}

async function removeOldestRounds(run: PipelineRun, maxLoss = run.parts.settings.hardTruncateMaxLoss): Promise<void> {
  const { room, aim, estimator } = run.parts
  run.oldestTried()
  const rounds = oldestRounds(run.draft, {
    protection: run.removalProtection(),
    room,
    aim,
    estimator,
    maxLoss,
    note: noteOptions(run),
  })
  if (rounds !== undefined) await remove(run, 4, rounds)
}

async function pruneOldResults(run: PipelineRun): Promise<void> {
  run.applyChange(3, pruned(run))
  await Promise.resolve()
}

function pruned(run: PipelineRun): HistoryDraft {
  const { tailStart, pins } = run.protection()
  const start = Math.min(tailStart, tailStartByTokens(run))
  return pruneResults(run.draft, { ...compactOptions(run), tailStart: start, pinned: pins.all })
}

async function removeOldestAfterPruning(run: PipelineRun): Promise<void> {
  if (!run.has(4)) await removeOldestRounds(run)
}

/**
 * Shortens results and removes more old rounds, to avoid a summary. A small window fills again after a few rounds and has little
 * room for a summary, so there unseen results are shortened too and more rounds may go.
 */
async function shrinkInsteadOfSummary(run: PipelineRun): Promise<void> {
  const { budget, settings } = run.parts
  const maxLoss = budget.small
    ? Math.max(settings.hardTruncateMaxLoss, SMALL_WINDOW_LOSS)
    : settings.hardTruncateMaxLoss
  for (const which of budget.small ? (["seen", "all"] as const) : (["seen"] as const)) {
    await shrinkResults(run, which, run.resultLimit() / 4)
    if (run.fits()) return
    await removeOldestRounds(run, maxLoss)
    if (run.fits()) return
  }
}

/** Notes about removed rounds quote the user at length; in a tight history they must give way too. */
async function shortenNotes(run: PipelineRun): Promise<void> {
  const { limits } = noteOptions(run)
  for (const share of [1, 0.5, 0.25, 0.1]) {
    if (run.fits()) return
    const words = {
      saidTokens: Math.floor(share * limits.words.saidTokens),
      listedTokens: Math.floor(share * limits.words.listedTokens),
    }
    const shorter = shrinkNotes(run.draft, { words, doneLines: Math.ceil(share * limits.doneLines) })
    if (run.sizeOf(shorter) < run.size()) run.applyChange(3, shorter)
  }
  await Promise.resolve()
}

const SMALL_WINDOW_LOSS = 0.9

async function remove(run: PipelineRun, layer: 2 | 4, rounds: readonly Round[]): Promise<void> {
  const removed = rounds.flatMap(({ start, end }) => run.draft.messages.slice(start, end))
  const hint = await hintFor(removed, layer, run.parts.request)
  run.applyRemoval(layer, removeRounds(run.draft, rounds, { ...noteOptions(run), hint }), rounds.length)
}

/** A memory failure must not stop compression. */
async function hintFor(removed: readonly Message[], layer: 2 | 4, request: CompressOptions): Promise<string> {
  try {
    return await request.beforeRemoval(removed, layer)
  } catch {
    return ""
  }
}

async function summarise(run: PipelineRun): Promise<void> {
  const { summariser, settings, budget, room, request } = run.parts
  const { head, tailStart } = run.protection()
  const draft = request.keepExchanges === undefined ? pruned(run) : run.draft
  const summary = await summariser.run(draft, {
    head,
    protectLastN: budget.small ? draft.messages.length - tailStart : settings.protectLastN,
    pins: findPinnedMessages(draft.messages, { head, planPriority: settings.planPriority }),
    budget,
    room,
    options: request,
  })
  switch (summary.kind) {
    case "nothing":
      return
    case "aborted":
      run.abort(summary.error)
      return
    case "done":
      if (run.applyRemoval(5, summary.draft, roundsOf(summary.removed).length)) run.summarised(summary)
  }
}

const SMALLEST_RESULT = 100

/** The last resort, when even the newest messages do not fit: shortens all results, the newest last. Plans and user messages stay. */
async function shrinkEverything(run: PipelineRun): Promise<void> {
  await shrinkResults(run, "seen")
  if (run.fits()) return
  const { pins } = run.protection()
  const messages = run.draft.messages
  const pinned = new Set([...pins.plans, ...unseenResults(messages), ...messages.filter(({ role }) => role === "user")])
  const tailStart = roundsOf(messages).at(-1)?.start ?? 0
  run.applyChange(3, pruneResults(run.draft, { ...compactOptions(run), tailStart, pinned }))
  await shrinkResults(run, "all")
}

/** Halves the limit per result until the messages fit. */
async function shrinkResults(run: PipelineRun, which: "seen" | "all", smallest = SMALLEST_RESULT): Promise<void> {
  const floor = Math.max(smallest, SMALLEST_RESULT)
  for (let limit = run.resultLimit(); limit >= floor && !run.fits(); limit = Math.floor(limit / 2)) {
    const { pins } = run.protection()
    const unseen = unseenResults(run.draft.messages)
    await reduce(run, (message) => pins.plans.has(message) || (which === "seen" && unseen.has(message)), limit)
  }
}

/** Index of the first of the newest messages that fit the tail budget. */
function tailStartByTokens({ draft, parts }: PipelineRun): number {
  let tokens = 0
  let start = draft.messages.length
  for (const message of draft.messages.toReversed()) {
    tokens += parts.estimator.tailMessage(message)
    if (tokens > parts.budget.tail) break
    start -= 1
  }
  return start
}

function compactOptions({ parts }: PipelineRun): Pick<CompactOptions, "digest" | "newestResultOnly"> {
  const { digest, newestResultOnly, redact } = parts
  return { digest: (call) => redact(digest(call)), newestResultOnly }
}

const TOKENS_PER_LINE = 40
const SMALL_NOTE_SHARE = 0.06
const NOTE_SHARE = 0.01
const DONE_LINES = { least: 12, most: 50 }

function noteOptions({ parts }: PipelineRun): Omit<NoteOptions, "hint"> {
  const { budget, room } = parts
  const lines = Math.floor(
    (budget.small ? SMALL_NOTE_SHARE * room : NOTE_SHARE * budget.contextLength) / TOKENS_PER_LINE,
  )
  return {
    sessionId: parts.request.sessionId,
    digest: parts.digest,
    redact: parts.redact,
    limits: {
      words: wordsBudget(budget.contextLength, room),
      doneLines: budget.small
        ? Math.min(Math.max(2, lines), DONE_LINES.least)
        : Math.min(Math.max(DONE_LINES.least, lines), DONE_LINES.most),
    },
  }
}
