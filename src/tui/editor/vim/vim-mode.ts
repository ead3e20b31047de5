import { assertNever } from "../../../base/assert-never.ts"
import { deleteRange, insertText, lineEnd, lineStart } from "../../../terminal/editor/draft.ts"
import type { Draft } from "../../../terminal/editor/draft.ts"
import { nextGrapheme, previousGrapheme } from "../../../terminal/text-width.ts"
import { parseVimKeys } from "./commands.ts"
import type { Find, Motion, Operator, SimpleKey, TextObject, VimCommand } from "./commands.ts"
import { findTarget, firstNonBlank } from "./motions.ts"
import { findTextObject } from "./text-objects.ts"
import type { Range } from "./text-objects.ts"
import { classAt } from "./words.ts"

/** The state of the Vim keys. Insert mode edits with the ordinary keys. */
export interface VimState {
  readonly mode: "insert" | "normal"
  /** The keys of an unfinished command. */
  readonly keys: readonly string[]
  readonly register: { readonly text: string; readonly isLines: boolean }
  readonly lastFind?: Find
  /** For `.`: the keys of the last change, and what was typed after them. */
  readonly lastChange?: { readonly keys: readonly string[]; readonly inserted: string }
  /** The change that insert mode belongs to, and the draft at its start. */
  readonly inserting?: { readonly keys: readonly string[]; readonly from: Draft }
}

export const INITIAL_VIM: VimState = { mode: "insert", keys: [], register: { text: "", isLines: false } }

export interface VimStep {
  readonly state: VimState
  readonly draft: Draft
  /** What the editor does besides: `up` and `down` move by rows and continue into the history. */
  readonly effect?: { readonly kind: "undo" | "redo" | "up" | "down"; readonly count: number }
}

/** Handles a key in normal mode. Undefined for a key that has no meaning there. */
export function vimKey(state: VimState, draft: Draft, key: string): VimStep | undefined {
  const keys = [...state.keys, key]
  const command = parseVimKeys(keys)
  if (command === "unfinished") return { state: { ...state, keys }, draft }
  const idle = { ...state, keys: [] }
  if (command === "invalid") return state.keys.length > 0 ? { state: idle, draft } : undefined
  const step = run(command, { state: idle, draft, keys })
  return step.state.mode === "normal" ? { ...step, draft: onCharacter(step.draft) } : step
}

/** Escape in insert mode. */
export function leaveInsertMode(state: VimState, draft: Draft): VimStep {
  const { inserting, ...rest } = state
  const lastChange =
    inserting === undefined
      ? {}
      : { lastChange: { keys: inserting.keys, inserted: insertedText(inserting.from, draft) } }
  const cursor = draft.cursor > lineStart(draft) ? previousGrapheme(draft.text, draft.cursor) : draft.cursor
  return { state: { ...rest, ...lastChange, mode: "normal", keys: [] }, draft: { ...draft, cursor } }
}

interface Context {
  readonly state: VimState
  readonly draft: Draft
  readonly keys: readonly string[]
}

function run(command: VimCommand, context: Context): VimStep {
  const { state, draft } = context
  switch (command.kind) {
    case "move": {
      const { motion, count } = command
      if (motion.key === "j" || motion.key === "k")
        return { state, draft, effect: { kind: motion.key === "j" ? "down" : "up", count: count ?? 1 } }
      const target = findTarget(draft, { motion, count, lastFind: state.lastFind })
      const found = "character" in motion ? { ...state, lastFind: motion } : state
      return { state: found, draft: target === undefined ? draft : { ...draft, cursor: target.cursor } }
    }
    case "operate":
      return operate(command, context)
    case "replace":
      return replaceCharacters(command.character, command.count ?? 1, context)
    case "simple":
      return runSimple(command.key, command.count, context)
    default:
      return assertNever(command)
  }
}

function operate(
  {
    operator,
    over,
    count,
  }: { readonly operator: Operator; readonly over: Motion | TextObject | "line"; readonly count: number | undefined },
  context: Context,
): VimStep {
  const { draft } = context
  if (over === "line") return applyToLines(operator, linesFrom(draft, count ?? 1), context)
  if ("around" in over) {
    const range = findTextObject(draft, over)
    return range === undefined ? context : applyToRange(operator, range, context)
  }
  // `cw` on a word keeps the blank behind it.
  const isWord = over.key === "w" || over.key === "W"
  const onWord = classAt(draft.text, draft.cursor, false) !== "blank"
  const motion: Motion = operator === "c" && isWord && onWord ? { key: over.key === "W" ? "E" : "e" } : over
  const target =
    endOfWordAt(draft, motion, count) ?? findTarget(draft, { motion, count, lastFind: context.state.lastFind })
  if (target === undefined) return context
  const found = "character" in over ? { ...context, state: { ...context.state, lastFind: over } } : context
  const from = Math.min(draft.cursor, target.cursor)
  const end = Math.max(draft.cursor, target.cursor)
  if (target.extent === "lines") {
    const { text } = draft
    return applyToLines(
      operator,
      { from: lineStart({ text, cursor: from }), to: lineEnd({ text, cursor: end }) },
      found,
    )
  }
  const to = target.extent === "inclusive" ? nextGrapheme(draft.text, end) : end
  return applyToRange(operator, { from, to: isWord ? withoutLineEnd(draft.text, from, to) : to }, found)
}

/** `ce` and `cw` on the last character of a word take this character, not the next word. */
function endOfWordAt({ text, cursor }: Draft, motion: Motion, count: number | undefined) {
  if (motion.key !== "e" && motion.key !== "E") return undefined
  const next = nextGrapheme(text, cursor)
  const isLast =
    next >= text.length || classAt(text, next, motion.key === "E") !== classAt(text, cursor, motion.key === "E")
  return isLast && (count ?? 1) === 1 ? { cursor, extent: "inclusive" as const } : undefined
}

/** `dw` on the last word of a line does not join the lines. */
function withoutLineEnd(text: string, from: number, to: number): number {
  const blank = /\n\s*$/u.exec(text.slice(from, to))
  return blank === null || blank.index === 0 ? to : from + blank.index
}

function linesFrom(draft: Draft, count: number): Range {
  let to = lineEnd(draft)
  for (let line = 1; line < count && to < draft.text.length; line += 1)
    to = lineEnd({ text: draft.text, cursor: to + 1 })
  return { from: lineStart(draft), to }
}

function applyToRange(operator: Operator, { from, to }: Range, context: Context): VimStep {
  const { draft } = context
  const state = { ...context.state, register: { text: draft.text.slice(from, to), isLines: false } }
  if (operator === "y") return { state, draft: { ...draft, cursor: from } }
  const rest = deleteRange(draft, from, to)
  return operator === "c" ? insertMode(state, rest, context.keys) : changed(state, rest, context.keys)
}

function applyToLines(operator: Operator, { from, to }: Range, context: Context): VimStep {
  const { draft, keys } = context
  const state = { ...context.state, register: { text: draft.text.slice(from, to), isLines: true } }
  if (operator === "y") return { state, draft: from < lineStart(draft) ? { ...draft, cursor: from } : draft }
  if (operator === "c") return insertMode(state, deleteRange(draft, from, to), keys)
  const rest = to < draft.text.length ? deleteRange(draft, from, to + 1) : deleteRange(draft, Math.max(0, from - 1), to)
  return changed(state, { ...rest, cursor: firstNonBlank(rest) }, keys)
}

function runSimple(key: SimpleKey, count: number | undefined, context: Context): VimStep {
  const { state, draft, keys } = context
  const { text, cursor } = draft
  const at = (index: number): VimStep => insertMode(state, { ...draft, cursor: index }, keys)
  const toEnd = { from: cursor, to: lineEnd(draft) }
  switch (key) {
    case "i":
      return at(cursor)
    case "a":
      return at(cursor < lineEnd(draft) ? nextGrapheme(text, cursor) : cursor)
    case "I":
      return at(firstNonBlank(draft))
    case "A":
      return at(lineEnd(draft))
    case "o":
      return insertMode(state, insertText({ text, cursor: lineEnd(draft) }, "\n"), keys)
    case "O": {
      const start = lineStart(draft)
      return insertMode(state, { ...insertText({ text, cursor: start }, "\n"), cursor: start }, keys)
    }
    case "x":
      return operate({ operator: "d", over: { key: "l" }, count }, context)
    case "X":
      return operate({ operator: "d", over: { key: "h" }, count }, context)
    case "s":
      return operate({ operator: "c", over: { key: "l" }, count }, context)
    case "S":
      return operate({ operator: "c", over: "line", count }, context)
    case "Y":
      return operate({ operator: "y", over: "line", count }, context)
    case "D":
      return applyToRange("d", toEnd, context)
    case "C":
      return applyToRange("c", toEnd, context)
    case "p":
    case "P":
      return putRegister(key, count ?? 1, context)
    case "u":
      return { state, draft, effect: { kind: "undo", count: count ?? 1 } }
    case "ctrl+r":
      return { state, draft, effect: { kind: "redo", count: count ?? 1 } }
    case ".":
      return repeatChange(count ?? 1, context)
    default:
      return assertNever(key)
  }
}

/** A count must not fill the memory. */
const MAX_PUT_CHARS = 100_000

function putRegister(key: "p" | "P", count: number, { state, draft, keys }: Context): VimStep {
  const { text: put, isLines } = state.register
  if (put === "") return { state, draft }
  const times = Math.max(1, Math.min(count, Math.floor(MAX_PUT_CHARS / put.length)))
  if (!isLines) {
    const before = key === "P" || draft.cursor >= lineEnd(draft)
    const cursor = before ? draft.cursor : nextGrapheme(draft.text, draft.cursor)
    const result = insertText({ ...draft, cursor }, put.repeat(times))
    return changed(state, { ...result, cursor: previousGrapheme(result.text, result.cursor) }, keys)
  }
  const lines = Array.from({ length: times }, () => put).join("\n")
  const index = key === "P" ? lineStart(draft) : lineEnd(draft)
  const { text } = insertText({ ...draft, cursor: index }, key === "P" ? `${lines}\n` : `\n${lines}`)
  return changed(state, { text, cursor: firstNonBlank({ text, cursor: key === "P" ? index : index + 1 }) }, keys)
}

function replaceCharacters(character: string, count: number, { state, draft, keys }: Context): VimStep {
  let end = draft.cursor
  for (let done = 0; done < count; done += 1) {
    if (end >= lineEnd(draft)) return { state, draft }
    end = nextGrapheme(draft.text, end)
  }
  const replaced = insertText(deleteRange(draft, draft.cursor, end), character.repeat(count))
  return changed(state, { ...replaced, cursor: previousGrapheme(replaced.text, replaced.cursor) }, keys)
}

function repeatChange(count: number, { state, draft }: Context): VimStep {
  const { lastChange } = state
  if (lastChange === undefined) return { state, draft }
  let step: VimStep = { state, draft }
  for (let done = 0; done < count && step.draft.text.length < MAX_PUT_CHARS; done += 1) {
    for (const key of lastChange.keys) step = vimKey(step.state, step.draft, key) ?? step
    if (step.state.mode === "insert") step = leaveInsertMode(step.state, insertText(step.draft, lastChange.inserted))
  }
  return { state: { ...step.state, lastChange }, draft: step.draft }
}

function insertMode(state: VimState, draft: Draft, keys: readonly string[]): VimStep {
  return { state: { ...state, mode: "insert", inserting: { keys, from: draft } }, draft }
}

function changed(state: VimState, draft: Draft, keys: readonly string[]): VimStep {
  return { state: { ...state, lastChange: { keys, inserted: "" } }, draft }
}

/** What was typed between two states, if everything else stayed as it was. */
function insertedText(before: Draft, after: Draft): string {
  const grown = after.text.length - before.text.length
  const start = before.cursor
  const isInsertion =
    grown > 0 &&
    after.text.startsWith(before.text.slice(0, start)) &&
    after.text.slice(start + grown) === before.text.slice(start)
  return isInsertion ? after.text.slice(start, start + grown) : ""
}

/** In normal mode the cursor stands on a character, not behind the last one of its line. */
function onCharacter(draft: Draft): Draft {
  const start = lineStart(draft)
  if (draft.cursor < lineEnd(draft) || draft.cursor === start) return draft
  return { ...draft, cursor: Math.max(start, previousGrapheme(draft.text, draft.cursor)) }
}
