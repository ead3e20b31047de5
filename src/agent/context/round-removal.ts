import type { Message, UserMessage } from "../../protocol/message.ts"
import type { DigestedCall } from "../../toolkit/tool.ts"
import { replaceDraftMessages } from "./history-draft.ts"
import type { HistoryDraft } from "./history-draft.ts"
import { describeRemoved, elisionOf, mergeElisions, elisionMessage, withElisionNote } from "./elision-note.ts"
import type { Elision } from "./elision-note.ts"
import type { Estimator } from "./token-estimate.ts"
import { isRemovable } from "./protection.ts"
import type { Protection } from "./protection.ts"
import { roundsOf } from "./rounds.ts"
import type { Round } from "./rounds.ts"

export interface NoteOptions {
  readonly sessionId: string
  readonly digest: (call: DigestedCall) => string
  readonly redact: (text: string) => string
  /** Facts from memory for the note. */
  readonly hint: string
  readonly maxLines: number
}

/** Layer 2: selects all rounds older than `staleAfter` rounds. */
export function staleRounds(
  messages: readonly Message[],
  options: { readonly protection: Protection; readonly staleAfter: number; readonly estimator: Estimator },
): readonly Round[] {
  const { protection, staleAfter, estimator } = options
  const rounds = roundsOf(messages)
  const stale = rounds.filter(
    (round, index) => rounds.length - 1 - index >= staleAfter && isRemovable(round, messages, protection),
  )
  return runsOf(stale)
    .filter(
      (run) =>
        run.reduce((sum, { start, end }) => sum + estimator.messages(messages.slice(start, end)), 0) > NOTE_TOKENS,
    )
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
 * Layer 4: selects as many of the oldest rounds as must go for the rest to fit. Undefined when that is impossible or would remove
 * more than `maxLoss` of the unprotected messages: then a summary is better.
 */
export function oldestRounds(
  draft: HistoryDraft,
  options: {
    readonly protection: Protection
    readonly room: number
    readonly maxLoss: number
    readonly estimator: Estimator
    readonly note: Omit<NoteOptions, "hint">
  },
): readonly Round[] | undefined {
  const { messages } = draft
  const { protection, estimator, room } = options
  const size = (part: readonly Message[]): number => estimator.messages(part)
  const allowed = options.maxLoss * size(messages.slice(protection.head, protection.tailStart))
  let left = size(messages)
  let lost = 0
  const removed: Round[] = []
  for (const round of roundsOf(messages)) {
    if (!isRemovable(round, messages, protection)) continue
    const tokens = size(messages.slice(round.start, round.end))
    lost += tokens
    left -= tokens
    if (lost > allowed) return undefined
    removed.push(round)
    if (left > room) continue
    if (size(removeRounds(draft, removed, { ...options.note, hint: LONGEST_HINT }).messages) <= room) return removed
  }
  return undefined
}

/** Reserves room for the hint, which is not known yet. */
const LONGEST_HINT = Array.from({ length: 3 }, (_, line) => `${line}`.repeat(200)).join("\n")

/** Removes rounds and puts an elision note at each gap. */
export function removeRounds(draft: HistoryDraft, rounds: readonly Round[], options: NoteOptions): HistoryDraft {
  const removed = new Set(rounds.map(({ start }) => start))
  const changed = new Map<Message, Message>()
  const kept: Message[] = []
  let gap: Round[] = []
  let { hint } = options
  for (const round of roundsOf(draft.messages)) {
    if (removed.has(round.start)) {
      gap.push(round)
      continue
    }
    const messages = draft.messages.slice(round.start, round.end)
    const [first, ...rest] = messages
    if (gap.length === 0 || first === undefined) {
      kept.push(...messages)
      continue
    }
    const elision = elisionFor(draft.messages, gap, { ...options, hint })
    gap = []
    hint = ""
    if (first.role === "user") {
      const noted: UserMessage = withElisionNote(first, elision)
      changed.set(noted, first)
      kept.push(noted, ...rest)
    } else {
      kept.push(elisionMessage(elision), ...messages)
    }
  }
  return replaceDraftMessages(draft, kept, changed)
}

function elisionFor(messages: readonly Message[], gap: readonly Round[], options: NoteOptions): Elision {
  const removed = gap.flatMap(({ start, end }) => messages.slice(start, end))
  const { maxLines } = options
  return removed
    .map(elisionOf)
    .toReversed()
    .reduce(
      (later, earlier) => (earlier.rounds === 0 ? later : mergeElisions(later, earlier, { maxLines })),
      describeRemoved(removed, { ...options, rounds: gap.length }),
    )
}
