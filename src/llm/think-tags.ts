/**
 * Separates the thoughts a model writes between tags from what it says, while the text arrives. Any split of the same text
 * gives the same result. A block is a tag at the start of a line; inside a line only a closed pair counts, so prose that
 * mentions a tag stays. Text after such a mention waits until the pair closes or the reply ends.
 */
export function createThinkScrubber(): ThinkScrubber {
  return new Scrubber()
}

export interface ThinkScrubber {
  feed(text: string): Split
  /** What was held back, once no more text comes. */
  flush(): Split
}

interface Split {
  readonly visible: string
  readonly thought: string
}

/** The same for a text that is there as a whole; what surrounded a block is trimmed with it. */
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
  /** Arrived and not judged yet. */
  #rest = ""
  #visible = ""
  #thought = ""
  #insideBlock = false
  #lineIsBlank = true
  #skipsSpaces = false
  #spoken = false
  #blocks = 0
  #startsThought = false
  #hasThought = false
  /** How much of the text after a waiting inline opener was searched for its end already. */
  #searched = 0

  feed(text: string): Split {
    this.#rest += text
    return this.#run({ last: false })
  }

  flush(): Split {
    return this.#run({ last: true })
  }

  #run(how: { readonly last: boolean }): Split {
    this.#visible = ""
    this.#thought = ""
    let goesOn = true
    while (goesOn) goesOn = this.#insideBlock ? this.#readBlock(how) : this.#readText(how)
    return { visible: this.#visible, thought: this.#thought }
  }

  #readBlock(how: { readonly last: boolean }): boolean {
    const closer = findTag(this.#rest, { from: 0, wanted: "closer" })
    if (closer === undefined) {
      this.#think(this.#takeSettled(how))
      return false
    }
    this.#think(this.#take(closer.start))
    this.#take(closer.end - closer.start)
    this.#insideBlock = false
    return true
  }

  #readText(how: { readonly last: boolean }): boolean {
    if (this.#skipsSpaces) {
      this.#rest = this.#rest.replace(/^[ \t]+/, "")
      if (this.#rest === "") return false
      this.#skipsSpaces = false
    }
    const tag = findTag(this.#rest, { from: 0, wanted: "any" })
    if (tag === undefined) {
      this.#say(this.#takeSettled(how))
      return false
    }
    this.#say(this.#take(tag.start))
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

  /** The rest begins with an opener that stands inside a line. */
  #readInline(openerLength: number, { last }: { readonly last: boolean }): boolean {
    const ending = inlineEnding(this.#rest, Math.max(openerLength, this.#searched - LONGEST_TAG))
    if (ending === undefined && !last) {
      this.#searched = this.#rest.length
      return false
    }
    this.#searched = 0
    if (ending?.kind === "closer") {
      this.#take(openerLength)
      this.#startsThought = true
      this.#think(this.#take(ending.start - openerLength))
      this.#take(ending.end - ending.start)
    } else {
      this.#say(this.#take(ending?.start ?? this.#rest.length))
    }
    return true
  }

  #say(words: string): void {
    // A reply that begins with its thoughts begins, for the reader, after the blank lines that follow them.
    const shown = this.#blocks > 0 && !this.#spoken ? words.trimStart() : words
    if (shown === "") return
    const line = shown.lastIndexOf("\n") + 1
    this.#lineIsBlank = (line > 0 || this.#lineIsBlank) && shown.slice(line).trim() === ""
    this.#spoken ||= shown.trim() !== ""
    this.#visible += shown
  }

  #think(words: string): void {
    if (words === "") return
    this.#thought += this.#startsThought && this.#hasThought ? `\n\n${words}` : words
    this.#startsThought = false
    this.#hasThought = true
  }

  #take(length: number): string {
    const taken = this.#rest.slice(0, length)
    this.#rest = this.#rest.slice(length)
    return taken
  }

  /** All of the rest, but for a tag that may be half arrived. */
  #takeSettled({ last }: { readonly last: boolean }): string {
    return this.#take(last ? this.#rest.length : partialTag(this.#rest))
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
  // Made anew because a global pattern carries its position.
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

/** What ends an opener inside a line: its closer, or a block that begins on a line of its own and makes the opener prose. */
function inlineEnding(text: string, from: number): Tag | undefined {
  let at = from
  for (;;) {
    const tag = findTag(text, { from: at, wanted: "any" })
    if (tag === undefined || tag.kind === "closer") return tag
    const line = text.lastIndexOf("\n", tag.start) + 1
    if (line > 0 && text.slice(line, tag.start).trim() === "") return tag
    at = tag.end
  }
}

/** Where a tag begins that more text could complete; the length of the text when there is none. */
function partialTag(text: string): number {
  const start = text.lastIndexOf("<")
  if (start === -1 || text.length - start >= LONGEST_TAG) return text.length
  const tail = text.slice(start).toLowerCase()
  return TAGS.some((tag) => tag.startsWith(tail)) ? start : text.length
}
