/**
 * Separates reasoning between tags such as `<think>` from visible text while the text arrives. The result does not depend on how
 * the text is split into chunks. A tag at the start of a line opens a block; inside a line only a closed pair counts, so prose
 * that mentions a tag stays visible. Text after such a mention is held back until the pair closes or the reply ends.
 */
export function createThinkScrubber(): ThinkScrubber {
  return new Scrubber()
}

export interface ThinkScrubber {
  feed(text: string): Split
  /** Returns the text that was held back. Call it when no more text comes. */
  flush(): Split
}

interface Split {
  readonly visible: string
  readonly thought: string
}

/** Does the same for a complete text, and trims the whitespace around blocks. */
export function splitThinkBlocks(text: string): Split {
  if (!text.includes("<")) return { visible: text, thought: "" }
  const scrubber = createThinkScrubber()
  const fed = scrubber.feed(text)
  const flushed = scrubber.flush()
  const visible = fed.visible + flushed.visible
  if (visible === text) return { visible, thought: "" }
  return { visible: visible.trim(), thought: (fed.thought + flushed.thought).trim() }
}

class Scrubber implements ThinkScrubber {
  /** Received and not processed yet. */
  #pending = ""
  #visible = ""
  #thought = ""
  #insideBlock = false
  #lineIsBlank = true
  #skipsSpaces = false
  #hasVisible = false
  #blocks = 0
  #startsThought = false
  #hasThought = false
  /** How much of the text after an inline opener was already searched for its closer. */
  #searched = 0

  feed(text: string): Split {
    this.#pending += text
    return this.#run({ last: false })
  }

  flush(): Split {
    return this.#run({ last: true })
  }

  #run(how: { readonly last: boolean }): Split {
    this.#visible = ""
    this.#thought = ""
    let more = true
    while (more) more = this.#insideBlock ? this.#readBlock(how) : this.#readText(how)
    return { visible: this.#visible, thought: this.#thought }
  }

  #readBlock(how: { readonly last: boolean }): boolean {
    const closer = findTag(this.#pending, { from: 0, wanted: "closer" })
    if (closer === undefined) {
      this.#addThought(this.#takeSettled(how))
      return false
    }
    this.#addThought(this.#take(closer.start))
    this.#take(closer.end - closer.start)
    this.#insideBlock = false
    return true
  }

  #readText(how: { readonly last: boolean }): boolean {
    if (this.#skipsSpaces) {
      this.#pending = this.#pending.replace(/^[ \t]+/, "")
      if (this.#pending === "") return false
      this.#skipsSpaces = false
    }
    const tag = findTag(this.#pending, { from: 0, wanted: "any" })
    if (tag === undefined) {
      this.#addVisible(this.#takeSettled(how))
      return false
    }
    this.#addVisible(this.#take(tag.start))
    const length = tag.end - tag.start
    if (tag.kind === "opener" && !this.#lineIsBlank) return this.#readInline(length, how)
    this.#take(length)
    if (tag.kind === "closer") {
      this.#skipsSpaces = true
    } else {
      this.#insideBlock = true
      this.#startsThought = true
      this.#blocks += 1
    }
    return true
  }

  /** The pending text begins with an opener inside a line. */
  #readInline(openerLength: number, { last }: { readonly last: boolean }): boolean {
    const ending = inlineEnding(this.#pending, Math.max(openerLength, this.#searched - LONGEST_TAG))
    if (ending === undefined && !last) {
      this.#searched = this.#pending.length
      return false
    }
    this.#searched = 0
    if (ending?.kind === "closer") {
      this.#take(openerLength)
      this.#startsThought = true
      this.#addThought(this.#take(ending.start - openerLength))
      this.#take(ending.end - ending.start)
    } else {
      this.#addVisible(this.#take(ending?.start ?? this.#pending.length))
    }
    return true
  }

  #addVisible(text: string): void {
    // When a reply begins with reasoning, the blank lines after it are not part of the visible text.
    const shown = this.#blocks > 0 && !this.#hasVisible ? text.trimStart() : text
    if (shown === "") return
    const line = shown.lastIndexOf("\n") + 1
    this.#lineIsBlank = (line > 0 || this.#lineIsBlank) && shown.slice(line).trim() === ""
    this.#hasVisible ||= shown.trim() !== ""
    this.#visible += shown
  }

  #addThought(text: string): void {
    if (text === "") return
    this.#thought += this.#startsThought && this.#hasThought ? `\n\n${text}` : text
    this.#startsThought = false
    this.#hasThought = true
  }

  #take(length: number): string {
    const taken = this.#pending.slice(0, length)
    this.#pending = this.#pending.slice(length)
    return taken
  }

  /** Takes all pending text except a tag that may still be incomplete. */
  #takeSettled({ last }: { readonly last: boolean }): string {
    return this.#take(last ? this.#pending.length : partialTag(this.#pending))
  }
}

const NAMES = ["think", "thinking", "reasoning", "thought", "reasoning_scratchpad"]
const TAGS = NAMES.flatMap((name) => [`<${name}>`, `</${name}>`])
const LONGEST_TAG = Math.max(...TAGS.map((tag) => tag.length))

interface Tag {
  readonly kind: "opener" | "closer"
  readonly start: number
  readonly end: number
}

function findTag(
  text: string,
  { from, wanted }: { readonly from: number; readonly wanted: "closer" | "any" },
): Tag | undefined {
  if (text.indexOf("<", from) === -1) return undefined
  // Created for each call because a global pattern keeps its position.
  const pattern = new RegExp(`<(${wanted === "any" ? "/?" : "/"})(?:${NAMES.join("|")})>`, "gi")
  pattern.lastIndex = from
  const match = pattern.exec(text)
  if (match === null) return undefined
  return {
    kind: match[1] === "/" ? "closer" : "opener",
    start: match.index,
    end: match.index + match[0].length,
  }
}

/** Finds the end of an inline opener: its closer, or a block at the start of a line, which makes the opener prose. */
function inlineEnding(text: string, from: number): Tag | undefined {
  let position = from
  for (;;) {
    const tag = findTag(text, { from: position, wanted: "any" })
    if (tag === undefined || tag.kind === "closer") return tag
    const line = text.lastIndexOf("\n", tag.start) + 1
    if (line > 0 && text.slice(line, tag.start).trim() === "") return tag
    position = tag.end
  }
}

/** Returns where an incomplete tag begins, or the length of the text when there is none. */
function partialTag(text: string): number {
  const start = text.lastIndexOf("<")
  if (start === -1 || text.length - start >= LONGEST_TAG) return text.length
  const tail = text.slice(start).toLowerCase()
  return TAGS.some((tag) => tag.startsWith(tail)) ? start : text.length
}
