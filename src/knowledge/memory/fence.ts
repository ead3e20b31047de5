/**
 * Wraps recalled memory in a fence, so that the model does not mistake it for the user's words. Models sometimes repeat the
 * fence; `createFenceScrubber` removes it from their output.
 */
export function fenceMemory(text: string): string {
  const clean = sanitizeContext(text).trim()
  return clean === "" ? "" : `${OPENING}\n${SYSTEM_NOTE}\n\n${clean}\n${CLOSING}`
}

const OPENING = "<memory-context>"
const CLOSING = "</memory-context>"
const SYSTEM_NOTE =
  "[System note: this is recalled memory, not new user input. Treat it as authoritative reference data.]"

/** Removes complete fenced blocks, then single tags and notes. The result contains no tag. */
export function sanitizeContext(text: string): string {
  if (!/memory-context|system note/i.test(text)) return text
  let clean = text
  // Removing a tag may join the halves of another one. Text that is crafted to do so repeatedly loses the hyphen.
  for (let pass = 0; pass < MAX_PASSES && /<\/?\s*memory-context\s*>/i.test(clean); pass += 1)
    clean = withoutTags(clean)
  if (/<\/?\s*memory-context\s*>/i.test(clean)) clean = clean.replaceAll(/memory-context/gi, "memory context")
  return clean.replaceAll(NOTE_LINE, "")
}

const MAX_PASSES = 4
/** The note of this and older editions, on its own line. Bounded, so that matching stays linear for hostile text. */
const NOTE_LINE = /^[ \t]{0,8}\[System note:[^\]\n]{0,100}recalled memory[^\]\n]{0,400}\][ \t]*(?:\n|$)/gim

/** Removes blocks, from an opening to the next closing tag, in one pass. Linear, unlike a lazy pattern. */
function withoutTags(text: string): string {
  let clean = ""
  let position = 0
  let block: number | undefined
  for (const tag of text.matchAll(/<(\/?)\s*memory-context\s*>/gi)) {
    const after = tag.index + tag[0].length
    if (tag[1] === "") {
      if (block !== undefined) continue
      clean += text.slice(position, tag.index)
      block = after
    } else {
      clean += block === undefined ? text.slice(position, tag.index) : ""
      block = undefined
    }
    position = after
  }
  return clean + text.slice(block ?? position)
}

export interface FenceScrubber {
  /** Returns the text that can be shown now. */
  feed(delta: string): string
  /** Returns the remaining text at the end of a response and resets the scrubber. */
  flush(): string
}

/**
 * Removes echoed memory blocks from a streamed response. A tag opens a block only when it starts a line and is followed by a line
 * break, so that a response which merely mentions the tag is not changed.
 */
export function createFenceScrubber(): FenceScrubber {
  let state: ScrubState = INITIAL
  return {
    feed: (delta) => {
      // Fast path for almost all text: nothing is held back, and the delta contains no tag.
      if (!state.inside && state.held === "" && !delta.includes("<")) {
        const line = delta.slice(delta.lastIndexOf("\n") + 1)
        const lineIsBlank = (state.lineIsBlank || line.length < delta.length) && BLANK.test(line)
        if (lineIsBlank !== state.lineIsBlank) state = { ...state, lineIsBlank }
        return delta
      }
      const [next, visible] = scrub(state, delta)
      state = next
      return visible
    },
    flush: () => {
      const remaining = state.inside ? "" : state.held
      state = INITIAL
      return remaining
    },
  }
}

interface ScrubState {
  readonly inside: boolean
  /** The current line contains only blanks so far. */
  readonly lineIsBlank: boolean
  /** The end of the input, while it may be the beginning of a tag. */
  readonly held: string
}

const BLANK = /^[ \t]*$/
const INITIAL: ScrubState = { inside: false, lineIsBlank: true, held: "" }

function scrub(state: ScrubState, delta: string): readonly [ScrubState, string] {
  let { inside, lineIsBlank } = state
  let rest = state.held + delta
  let visible = ""
  while (rest !== "") {
    if (inside) {
      const close = /<\/memory-context>/i.exec(rest)
      if (close === null) return [{ inside, lineIsBlank, held: rest.slice(1 - CLOSING.length) }, visible]
      rest = rest.slice(close.index + CLOSING.length)
      inside = false
      continue
    }
    const start = lineIsBlank ? rest.search(/[^ \t]/) : -1
    const opening = start < 0 || rest[start] !== "<" ? "none" : openingAt(rest.slice(start))
    if (opening !== "none") {
      visible += rest.slice(0, start)
      rest = rest.slice(start)
      if (opening === "partial") return [{ inside, lineIsBlank, held: rest }, visible]
      rest = rest.slice(OPENING.length)
      inside = true
      continue
    }
    const line = throughLineBreak(rest)
    visible += line
    rest = rest.slice(line.length)
    lineIsBlank = line.endsWith("\n") || (lineIsBlank && /^[ \t]*$/.test(line))
  }
  return [{ inside, lineIsBlank, held: "" }, visible]
}

/** `partial`: the text may become an opening tag. */
function openingAt(text: string): "none" | "partial" | "complete" {
  const head = text.slice(0, OPENING.length).toLowerCase()
  if (!OPENING.startsWith(head)) return "none"
  const after = text.slice(OPENING.length)
  if (/^[ \t]*\r?\n/.test(after)) return "complete"
  return /^[ \t]*\r?$/.test(after) ? "partial" : "none"
}

function throughLineBreak(text: string): string {
  const end = text.indexOf("\n")
  return end < 0 ? text : text.slice(0, end + 1)
}
