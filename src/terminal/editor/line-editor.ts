import { plainText } from "../printable-text.ts"
import type { Terminal } from "../terminal.ts"
import { dim } from "../text-layout.ts"
import { takeColumns } from "../text-width.ts"
import { completeCommand } from "./complete-command.ts"
import { draftRows } from "./draft-rows.ts"
import {
  deleteLeft,
  deleteRight,
  deleteToLineEnd,
  deleteToLineStart,
  deleteWordLeft,
  deleteWordRight,
  draftOf,
  EMPTY_DRAFT,
  insertText,
  moveDown,
  moveLeft,
  moveRight,
  moveToLineEnd,
  moveToLineStart,
  moveUp,
  moveWordLeft,
  moveWordRight,
} from "./draft.ts"
import type { Draft, DraftEdit } from "./draft.ts"
import { EMPTY_SEARCH, searchHistory, searchOlder } from "./history-search.ts"
import type { HistorySearch } from "./history-search.ts"
import { openRawKeys } from "./raw-keys.ts"
import type { Key } from "./raw-keys.ts"
import { printable } from "./wrapped-line.ts"

export interface LineEditorOptions {
  readonly input: NodeJS.ReadableStream
  readonly terminal: Terminal
  /** Earlier messages, oldest first. */
  readonly history: () => readonly string[]
  /** The slash commands that Tab completes. */
  readonly commands?: readonly string[]
  readonly events: LineEditorEvents
}

export interface LineEditorEvents {
  /** Enter. The draft is empty again. */
  submitted(text: string): void
  /** Ctrl+C. */
  interrupted(): void
  /** Ctrl+D in an empty line. */
  left(): void
  /** The terminal is gone. */
  ended(): void
  /** The draft changed while it is not shown. */
  hiddenDraftChanged(): void
}

/**
 * What is asked for. A `message` can have several lines and uses the history, an `answer` is one line, and a `secret` is not shown
 * either. The first row of a `message` prompt can be coloured.
 */
export interface EditorPrompt {
  readonly text: string
  readonly kind: "message" | "answer" | "secret"
}

/**
 * Edits a line in place. Keys edit the draft also while no prompt is shown, so what the user types during a reply is neither lost
 * nor mixed into it.
 */
export interface LineEditor {
  draft: Draft
  /** Shows the prompt with the draft. */
  show(prompt: EditorPrompt): void
  /** Shows a hint below the draft until the next key. */
  hint(text: string | undefined): void
  /** Stops showing the prompt and removes it from the screen. */
  hide(): void
  /** Stops showing the prompt; it stays on the screen with the given text behind it. */
  leave(text: string): void
  close(): void
}

export function openLineEditor(options: LineEditorOptions): LineEditor {
  return new RawLineEditor(options)
}

class RawLineEditor implements LineEditor {
  readonly #options: LineEditorOptions
  readonly #keys
  readonly #stopResizing: () => void
  #draft = EMPTY_DRAFT
  #prompt: EditorPrompt | undefined
  #hint: string | undefined
  /** Position in the history and the draft that was left for it. */
  #browsing: { readonly index: number; readonly draft: Draft } | undefined
  #search: HistorySearch | undefined
  #drawPending = false

  constructor(options: LineEditorOptions) {
    this.#options = options
    const { input, terminal, events } = options
    this.#keys = openRawKeys({
      input,
      write: (sequence) => terminal.live?.control(sequence),
      key: (text, key) => this.#key(text, key),
      paste: (text) => this.#paste(text),
      resumed: () => this.#draw(),
      ended: () => events.ended(),
    })
    this.#stopResizing = terminal.onResize(() => this.#draw())
  }

  get draft(): Draft {
    return this.#draft
  }

  set draft(draft: Draft) {
    this.#draft = draft
    this.#browsing = undefined
    this.#search = undefined
    this.#changed()
  }

  show(prompt: EditorPrompt): void {
    this.#prompt = { ...prompt, text: plainText(prompt.text) }
    this.#options.terminal.live?.startLine()
    this.#draw()
  }

  hint(text: string | undefined): void {
    this.#hint = text
    this.#changed()
  }

  hide(): void {
    if (this.#prompt === undefined) return
    this.#prompt = undefined
    this.#hint = undefined
    this.#options.terminal.live?.hide()
  }

  leave(text: string): void {
    const prompt = this.#prompt
    if (prompt === undefined) return
    this.#prompt = undefined
    this.#hint = undefined
    const { terminal } = this.#options
    const shown = prompt.kind === "secret" ? "" : printable(text)
    const indent = " ".repeat(prompt.text.length)
    terminal.live?.commit(
      styledPrompt(prompt, terminal) + (prompt.kind === "message" ? shown.replaceAll("\n", `\n${indent}`) : shown),
    )
  }

  close(): void {
    this.#stopResizing()
    this.hide()
    this.#keys.close()
  }

  #key(text: string, key: Key): void {
    this.#hint = undefined
    if (this.#search !== undefined && this.#searchKey(text, key, this.#search)) return
    const edit = EDITS[chord(key)]
    if (edit !== undefined) this.#edit(edit(this.#draft))
    else this.#otherKey(text, key)
  }

  #otherKey(text: string, key: Key): void {
    const { events } = this.#options
    const isMessage = this.#prompt === undefined || this.#prompt.kind === "message"
    switch (chord(key)) {
      case "return":
        if (isMessage && /(?:^|[^\\])(?:\\\\)*\\$/u.test(this.#draft.text.slice(0, this.#draft.cursor)))
          this.#edit(insertText(deleteLeft(this.#draft), "\n"))
        else this.#submit()
        return
      case "enter":
      case "meta+return":
      case "meta+enter":
        if (isMessage) this.#edit(insertText(this.#draft, "\n"))
        else this.#submit()
        return
      case "ctrl+c":
        this.#changed()
        events.interrupted()
        return
      case "ctrl+d":
        if (this.#draft.text !== "") this.#edit(deleteRight(this.#draft))
        else events.left()
        return
      case "ctrl+l":
        this.#changed()
        return
      case "ctrl+z":
        this.#options.terminal.live?.hide()
        this.#keys.suspend()
        return
      case "up":
      case "ctrl+p":
        this.#edit(moveUp(this.#draft), "older")
        return
      case "down":
      case "ctrl+n":
        this.#edit(moveDown(this.#draft), "newer")
        return
      case "tab":
        this.#complete()
        return
      case "ctrl+r":
        if (this.#prompt?.kind === "message") this.#search = EMPTY_SEARCH
        this.#changed()
        return
      default:
        if (isMessage && NEWLINE_SEQUENCES.has(key.sequence ?? "")) this.#edit(insertText(this.#draft, "\n"))
        else if (isText(text, key)) this.#edit(insertText(this.#draft, text))
        else this.#changed()
    }
  }

  #complete(): void {
    const completion =
      this.#prompt?.kind === "message" ? completeCommand(this.#draft, this.#options.commands ?? []) : undefined
    if (completion === undefined) return
    this.#draft = completion.draft
    this.hint(completion.hint)
  }

  #edit(draft: Draft | undefined, orBrowse?: "older" | "newer"): void {
    if (draft === undefined) {
      if (orBrowse !== undefined) this.#browse(orBrowse)
      return
    }
    this.#draft = draft
    this.#changed()
  }

  #browse(direction: "older" | "newer"): void {
    if (this.#prompt?.kind !== "message") return
    const entries = this.#options.history()
    const index = (this.#browsing?.index ?? entries.length) + (direction === "older" ? -1 : 1)
    const entry = entries[index]
    if (entry !== undefined) {
      this.#browsing = { index, draft: this.#browsing?.draft ?? this.#draft }
      this.#draft = draftOf(entry)
    } else if (direction === "newer" && this.#browsing !== undefined) {
      this.#draft = this.#browsing.draft
      this.#browsing = undefined
    }
    this.#changed()
  }

  /** Returns false for a key that ends the search and then does what it always does. */
  #searchKey(text: string, key: Key, search: HistorySearch): boolean {
    const entries = this.#options.history()
    const found = search.match === undefined ? undefined : entries[search.match]
    switch (chord(key)) {
      case "ctrl+r":
        this.#search = searchOlder(entries, search)
        break
      case "backspace":
      case "ctrl+h":
        this.#search = searchHistory(entries, deleteLeft(draftOf(search.query)).text)
        break
      case "ctrl+c":
      case "ctrl+g":
        this.#search = undefined
        break
      default:
        if (isText(text, key)) {
          this.#search = searchHistory(entries, search.query + text, search.match)
          break
        }
        this.#search = undefined
        if (found !== undefined) this.#draft = draftOf(found)
        // Escape only ends the search.
        if (chord(key) === "escape" || chord(key) === "meta+escape") break
        return false
    }
    this.#changed()
    return true
  }

  #paste(text: string): void {
    this.#hint = undefined
    const kind = this.#prompt?.kind ?? "message"
    if (kind === "message") {
      this.#edit(insertText(this.#draft, text))
      return
    }
    // An answer takes one line, so the end of a pasted password submits it.
    const [line = "", ...rest] = text.split("\n")
    this.#edit(insertText(this.#draft, line))
    if (rest.length > 0) this.#submit()
  }

  #submit(): void {
    const { text } = this.#draft
    this.#draft = EMPTY_DRAFT
    this.#browsing = undefined
    if (this.#prompt === undefined) this.#options.events.hiddenDraftChanged()
    else this.leave(text)
    this.#options.events.submitted(text)
  }

  /** Keys that arrive together are drawn once. */
  #changed(): void {
    if (this.#prompt === undefined) this.#options.events.hiddenDraftChanged()
    if (this.#drawPending) return
    this.#drawPending = true
    queueMicrotask(() => {
      this.#drawPending = false
      this.#draw()
    })
  }

  #draw(): void {
    const { terminal, history } = this.#options
    const prompt = this.#prompt
    if (prompt === undefined) return
    const search = this.#search
    const found = search?.match === undefined ? undefined : history()[search.match]
    const shown =
      search === undefined
        ? { prompt: prompt.text, draft: prompt.kind === "secret" ? EMPTY_DRAFT : this.#draft }
        : { prompt: `(history search) ${search.query}: `, draft: draftOf(found ?? "") }
    const { columns } = terminal
    const { rows, cursor } = draftRows({ ...shown, columns, maxRows: terminal.rows - 2 })
    const [first = "", ...others] = rows
    const isPromptRow = search === undefined && first.startsWith(prompt.text)
    terminal.live?.show(
      [
        isPromptRow ? styledPrompt(prompt, terminal) + first.slice(prompt.text.length) : first,
        ...others,
        ...(this.#hint === undefined ? [] : [dim(takeColumns(this.#hint, columns - 1), terminal.color)]),
      ],
      cursor,
    )
  }
}

function styledPrompt({ text, kind }: EditorPrompt, { color }: Terminal): string {
  return kind === "message" && color
    ? `\u{1B}[1;36m${text.trimEnd()}\u{1B}[0m${text.slice(text.trimEnd().length)}`
    : text
}

function chord({ name, ctrl, meta }: Key): string {
  return `${ctrl === true ? "ctrl+" : ""}${meta === true ? "meta+" : ""}${name ?? ""}`
}

function isText(text: string, { ctrl, meta }: Key): boolean {
  return text !== "" && ctrl !== true && meta !== true && !/\p{Cc}/u.test(text)
}

/** Shift+Enter and Ctrl+Enter, from terminals that report them. */
const NEWLINE_SEQUENCES: ReadonlySet<string> = new Set([
  "\u{1B}[13;2u",
  "\u{1B}[13;5u",
  "\u{1B}[27;2;13~",
  "\u{1B}[27;5;13~",
])

const EDITS: Readonly<Record<string, DraftEdit>> = {
  left: moveLeft,
  "ctrl+b": moveLeft,
  right: moveRight,
  "ctrl+f": moveRight,
  "ctrl+left": moveWordLeft,
  "meta+left": moveWordLeft,
  "meta+b": moveWordLeft,
  "ctrl+right": moveWordRight,
  "meta+right": moveWordRight,
  "meta+f": moveWordRight,
  home: moveToLineStart,
  "ctrl+a": moveToLineStart,
  end: moveToLineEnd,
  "ctrl+e": moveToLineEnd,
  backspace: deleteLeft,
  "ctrl+h": deleteLeft,
  delete: deleteRight,
  "ctrl+w": deleteWordLeft,
  "meta+backspace": deleteWordLeft,
  "ctrl+backspace": deleteWordLeft,
  "meta+d": deleteWordRight,
  "ctrl+u": deleteToLineStart,
  "ctrl+k": deleteToLineEnd,
}
