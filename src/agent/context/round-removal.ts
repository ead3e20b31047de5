import type { Message, UserMessage } from "../../protocol/message.ts"
import type { DigestedCall } from "../../toolkit/tool.ts"
import { mapMessages, replaceDraftMessages } from "./history-draft.ts"
import type { HistoryDraft } from "./history-draft.ts"
import {
  describeRemoved,
  elisionMessage,
  elisionOf,
  mergeElisions,
  NO_ELISION,
  withElisionNote,
  withoutElisionNote,
} from "./elision-note.ts"
import type { Elision, NoteLimits } from "./elision-note.ts"
import type { Estimator } from "./token-estimate.ts"
import { REPLY_LEFT_OUT, removableRounds } from "./protection.ts"
import type { Protection } from "./protection.ts"
import { roundsOf } from "./rounds.ts"
import type { Round } from "./rounds.ts"

export interface NoteOptions {
  readonly sessionId: string
  readonly digest: (call: DigestedCall) => string
  readonly redact: (text: string) => string
  /** Facts from memory for the note. */
  readonly hint: string
  readonly limits: NoteLimits
}

export interface SelectionOptions {
  readonly protection: Protection
  /** Once something must be removed, so much is removed that the messages take this many tokens: see `REMOVAL_SHARE`. */
  readonly aim: number
  readonly estimator: Estimator
  readonly note: Omit<NoteOptions, "hint">
}

/** Layer 2: selects rounds older than `staleAfter` rounds, the oldest first, until the aim is reached. */
export function staleRounds(
  draft: HistoryDraft,
  options: SelectionOptions & { readonly staleAfter: number },
): readonly Round[] {
  const { messages } = draft
  const firstFresh = roundsOf(messages).at(-options.staleAfter)?.start ?? 0
  const stale = removableRounds(messages, options.protection).filter(({ start }) => start < firstFresh)
  const size = ({ start, end }: Round): number => options.estimator.messages(messages.slice(start, end))
  return runsOf(selectOldest(draft, stale, options))
    .filter((run) => run.reduce((sum, round) => sum + size(round), 0) > NOTE_TOKENS)
    .flat()
}

/** Replacing fewer tokens than this with a note would save nothing. */
const NOTE_TOKENS = 120

/** Groups consecutive rounds. */
function runsOf(rounds: readonly Round[]): readonly (readonly Round[])[] {
  const runs: Round[][] = []
  for (const round of rounds) {
    const run = runs.at(-1)
    if (run?.at(-1)?.end === round.start) run.push(round)
    else runs.push([round])
  }
  return runs
}

/**
 * Layer 4: selects the oldest rounds until the aim is reached, or all rounds that may go. Undefined when even then the messages do
 * not fit into `room`, or when fitting would remove more than `maxLoss` of the unprotected messages: then a summary is better.
 */
export function oldestRounds(
  draft: HistoryDraft,
  options: SelectionOptions & { readonly room: number; readonly maxLoss: number },
): readonly Round[] | undefined {
  const { messages } = draft
  const { protection, estimator, room } = options
  const rounds = removableRounds(messages, protection)
  // Earlier notes are merged into the new one, so they do not count as lost.
  const lossOf = (start: number, end: number): number =>
    estimator.messages(messages.slice(start, end).flatMap((message) => withoutNote(message) ?? []))
  const allowed = options.maxLoss * lossOf(protection.head, protection.tailStart)
  let left = estimator.messages(messages)
  let lost = 0
  for (const { start, end } of rounds) {
    if (left <= room) break
    left -= estimator.messages(messages.slice(start, end))
    lost += lossOf(start, end)
    if (lost > allowed) return undefined
  }
  const selected = selectOldest(draft, rounds, options)
  return selected.length > 0 && sizeWithout(draft, selected, options) <= room ? selected : undefined
}

function withoutNote(message: Message): Message | undefined {
  return message.role === "user" ? withoutElisionNote(message) : message
}

function selectOldest(draft: HistoryDraft, rounds: readonly Round[], options: SelectionOptions): readonly Round[] {
  const { estimator, aim } = options
  let left = estimator.messages(draft.messages)
  let noteTokens = 0
  const selected: Round[] = []
  for (const round of rounds) {
    if (left + noteTokens <= aim) {
      const actual = sizeWithout(draft, selected, options)
      if (actual <= aim) break
      noteTokens = actual - left
    }
    left -= estimator.messages(draft.messages.slice(round.start, round.end))
    selected.push(round)
  }
  return selected
}

function sizeWithout(draft: HistoryDraft, rounds: readonly Round[], { estimator, note }: SelectionOptions): number {
  return estimator.messages(removeRounds(draft, rounds, { ...note, hint: LONGEST_HINT }).messages)
}

/** Reserves room for the hint, which is not known yet. */
const LONGEST_HINT = Array.from({ length: 3 }, (_, line) => `${line}`.repeat(200)).join("\n")

/** Removes rounds and puts an elision note at each gap. */
export function removeRounds(draft: HistoryDraft, rounds: readonly Round[], options: NoteOptions): HistoryDraft {
  const { messages } = draft
  const gaps = runsOf(rounds)
  const changed = new Map<Message, Message>()
  const kept: Message[] = []
  let position = 0
  for (const [index, gap] of gaps.entries()) {
    const start = gap[0]?.start ?? position
    const end = gap.at(-1)?.end ?? position
    kept.push(...messages.slice(position, start))
    position = end
    const note = {
      ...options,
      hint: index === 0 ? options.hint : "",
      limits: sharedLimits(options.limits, gaps.length),
    }
    let elision = elisionFor(messages.slice(start, end), gap.length, note)
    const attach = (to: UserMessage, side: "before" | "after"): UserMessage => {
      const noted = withElisionNote(to, elision, { gap: side, limits: note.limits })
      changed.set(noted, changed.get(to) ?? to)
      return noted
    }
    const previous = kept.at(-1)
    const next = messages[end]
    if (next?.role === "user") {
      if (previous?.role === "user") {
        // One note for both gaps around the previous message.
        elision = mergeElisions(elisionOf(previous), elision, note.limits)
        const plain = withoutElisionNote(previous)
        if (plain !== undefined && plain !== previous) changed.set(plain, changed.get(previous) ?? previous)
        kept.splice(-1, 1, ...(plain === undefined ? [] : [plain, REPLY_LEFT_OUT]))
      }
      kept.push(attach(next, "before"))
      position += 1
    } else if (previous?.role === "user") {
      kept[kept.length - 1] = attach(previous, "after")
    } else {
      kept.push(elisionMessage(elision))
    }
  }
  return replaceDraftMessages(draft, [...kept, ...messages.slice(position)], changed)
}

/** All notes together stay within the limits. */
function sharedLimits({ words, doneLines }: NoteLimits, gaps: number): NoteLimits {
  return {
    words: {
      saidTokens: Math.floor(words.saidTokens / gaps),
      listedTokens: Math.floor(words.listedTokens / gaps),
    },
    doneLines: Math.ceil(doneLines / gaps),
  }
}

/** Shortens the notes in a history to these limits. */
export function shrinkNotes(draft: HistoryDraft, limits: NoteLimits): HistoryDraft {
  return mapMessages(draft, (message) => {
    const elision = elisionOf(message)
    const plain = message.role === "user" && elision.rounds > 0 ? withoutElisionNote(message) : message
    const shorter = mergeElisions(elision, NO_ELISION, limits)
    if (plain === undefined) return elisionMessage(shorter)
    if (plain === message || plain.role !== "user") return message
    return withElisionNote(plain, shorter, { gap: "before", limits })
  })
}

function elisionFor(removed: readonly Message[], rounds: number, options: NoteOptions): Elision {
  const { limits } = options
  return removed
    .map(elisionOf)
    .toReversed()
    .reduce(
      (later, earlier) => (earlier.rounds === 0 ? later : mergeElisions(earlier, later, limits)),
      describeRemoved(removed, { ...options, rounds }),
    )
}
