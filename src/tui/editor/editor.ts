import type { AttachedImage } from "../../app/services/attached-image.ts"
import { pasteTokenEndingAt } from "../../admin/editor-support/paste-files.ts"
import { assertNever } from "../../base/assert-never.ts"
import type { EditorKeyAction } from "../../config/editor-keys.ts"
import {
  deleteLeft,
  deleteRange,
  deleteRight,
  draftOf,
  insertText,
  lineEnd,
  moveRight,
} from "../../terminal/editor/draft.ts"
import type { Draft, DraftEdit } from "../../terminal/editor/draft.ts"
import { textColumns } from "../../terminal/text-width.ts"
import type { Drawing, Size } from "../drawing.ts"
import type { KeyEvent } from "../screen/key-event.ts"
import type { Theme } from "../theme/theme.ts"
import { createBrowsing } from "./browsing.ts"
import { createMenuControl } from "./completion/menu-control.ts"
import { createDraftLayouter, moveRows } from "./draft-layout.ts"
import { drawEditor } from "./draw-editor.ts"
import { CUTS, MOVES } from "./edit-keys.ts"
import { createEditing } from "./editing.ts"
import type { EditorAction } from "./editor-action.ts"
import type { EditorOptions } from "./editor-options.ts"
import { cleanInput } from "./input-text.ts"
import { createPasteControl } from "./paste-control.ts"
import { promptText } from "./prompt-text.ts"
import { createSearchControl } from "./search-control.ts"
import { suggestRest } from "./suggestion.ts"
import { isText } from "./typed-key.ts"
import type { TypedKey } from "./typed-key.ts"
import { createVimControl } from "./vim/vim-control.ts"

/** The input of the full UI: a draft of several lines with completion, history and attachments. */
export interface Editor {
  readonly text: string
  readonly attachments: readonly AttachedImage[]
  /** There is neither text nor an attachment. */
  readonly isEmpty: boolean
  /** Shown by the prompt. */
  isWorking: boolean
  draw(size: Size, theme: Theme, now: number): Drawing
  key(event: KeyEvent): EditorAction | undefined
  /** Inserts text as a paste does. */
  paste(text: string): EditorAction | undefined
  attach(image: AttachedImage): void
  /** Replaces the draft; it can be undone. */
  setText(text: string): void
  /** Puts text before what the user has typed. */
  returnToDraft(text: string): void
  /** Removes text and attachments. Undo brings the text back. */
  clear(): void
  /** Shows a sentence below the draft until the next key, or for this many milliseconds. */
  hint(text: string, forMs?: number): void
  /** Replaces options, for example when the settings are known. The draft stays. */
  configure(changes: Partial<EditorOptions>): void
}

export function createEditor(options: EditorOptions): Editor {
  return new InputEditor(options)
}

/** A second Escape within this time goes back to an earlier message. */
const SECOND_ESCAPE_MS = 1000

class InputEditor implements Editor {
  isWorking = false
  #options: EditorOptions
  readonly #editing
  readonly #browsing
  readonly #layoutOf = createDraftLayouter()
  readonly #menu = createMenuControl(() => this.#options.changed())
  readonly #pastes
  readonly #search
  readonly #vim
  /** The first of two keys. */
  #prefix: string | undefined
  #hint: { readonly text: string; readonly until: number } | undefined
  #escapedAt = Number.NEGATIVE_INFINITY
  /** The column that Up and Down keep to. */
  #goalColumn: number | undefined
  /** The key has shown another message; a menu for it would take the next Up and Down. */
  #isBrowsing = false
  #showsSuggestions = true
  /** Of the last drawing. */
  #width = 76
  #top = 0

  constructor(options: EditorOptions) {
    this.#options = options
    this.#editing = createEditing({ undoStep: () => (this.#options.mode === "vim" ? "insertion" : "word") })
    this.#browsing = createBrowsing({
      history: () => this.#options.history.entries(),
      queued: () => this.#options.queued(),
    })
    this.#pastes = createPasteControl({
      editing: this.#editing,
      options: () => this.#options,
      hint: (text) => this.hint(text),
    })
    this.#search = createSearchControl({
      options: () => this.#options,
      accept: (message) => this.#editing.change(draftOf(message)),
    })
    this.#vim = createVimControl({
      isOn: () => this.#options.mode === "vim",
      editing: this.#editing,
      vertical: (direction) => this.#vertical(direction),
      horizontal: () => {
        this.#goalColumn = undefined
      },
    })
  }

  get text(): string {
    return this.#editing.draft.text
  }

  get attachments(): readonly AttachedImage[] {
    return this.#pastes.images
  }

  get isEmpty(): boolean {
    return this.text === "" && this.attachments.length === 0
  }

  draw(size: Size, theme: Theme, now: number): Drawing {
    const { profile } = this.#options
    const vimMode = this.#vim.mode
    const prompt = promptText(
      {
        isWorking: this.isWorking,
        ...(vimMode === undefined ? {} : { vimMode }),
        ...(profile === undefined ? {} : { profile }),
      },
      size.columns,
      theme,
    )
    // Without colours they would look like typed text.
    this.#showsSuggestions = theme.color
    this.#width = Math.max(2, size.columns - 1 - textColumns(prompt))
    const { draft } = this.#editing
    const { search, found } = this.#search
    const shown = found === undefined ? draft : draftOf(found)
    const { rows, cursor, top } = drawEditor(
      {
        prompt,
        layout: this.#layoutOf(shown.text, this.#width),
        cursor: shown.cursor,
        top: this.#top,
        suggestion: search === undefined ? this.#suggestion() : "",
        search,
        images: this.attachments,
        hint: this.#hint !== undefined && now < this.#hint.until ? this.#hint.text : undefined,
        menu: this.#menu.menu,
      },
      size,
      theme,
    )
    this.#top = top
    return { rows, ...(cursor === undefined ? {} : { cursor }) }
  }

  key(event: KeyEvent): EditorAction | undefined {
    this.#hint = undefined
    this.#isBrowsing = false
    const before = this.#editing.draft
    const { newlines, unbracketedNewlines } = this.#options.pastes
    const action =
      event.type === "paste"
        ? this.#paste(event.text, event.unmarked === true ? unbracketedNewlines : newlines)
        : this.#key(event)
    if (this.#editing.draft.text !== before.text) this.#complete()
    else if (this.#editing.draft.cursor !== before.cursor) this.#menu.close()
    return action
  }

  paste(text: string): EditorAction | undefined {
    return this.#paste(text, this.#options.pastes.newlines)
  }

  attach(image: AttachedImage): void {
    this.#pastes.attach(image)
  }

  setText(text: string): void {
    this.#leaveModes()
    this.#editing.change(draftOf(cleanInput(text)))
    this.#menu.close()
  }

  returnToDraft(text: string): void {
    this.setText(this.text === "" ? text : `${text}\n${this.text}`)
  }

  clear(): void {
    this.#pastes.takeImages()
    this.setText("")
  }

  hint(text: string, forMs = Number.POSITIVE_INFINITY): void {
    this.#hint = { text, until: this.#options.now() + forMs }
    if (Number.isFinite(forMs)) setTimeout(() => this.#options.changed(), forMs).unref()
  }

  configure(changes: Partial<EditorOptions>): void {
    this.#options = { ...this.#options, ...changes }
    if (this.text !== "") this.#complete()
  }

  #key(event: TypedKey): EditorAction | undefined {
    const { keymap } = this.#options
    const chord = this.#prefix === undefined ? event.chord : `${this.#prefix} ${event.chord}`
    const isSecond = this.#prefix !== undefined
    this.#prefix = undefined
    if (!isSecond && this.#search.key(event)) return undefined
    if (!isSecond && this.#vim.isNormal && this.#vim.key(event)) return undefined
    if (!isSecond && keymap.isPrefix(chord)) {
      this.#prefix = chord
      return undefined
    }
    const action = keymap.action(chord)
    if (action !== "up" && action !== "down") this.#goalColumn = undefined
    if (action !== undefined) return this.#run(action)
    if (!isSecond && isText(event) && !this.#vim.isNormal) this.#type(event.text)
    return undefined
  }

  #run(action: EditorKeyAction): EditorAction | undefined {
    switch (action) {
      case "submit":
        return this.#submit()
      case "newline":
        return this.#do(() => this.#editing.insert("\n"))
      case "up":
      case "down":
        return this.#vertical(action)
      case "right":
        return this.#acceptSuggestion() ? undefined : this.#move(moveRight)
      case "delete_left":
        return this.#deleteLeft()
      case "delete_right":
        return this.#do(() => this.#editing.delete(deleteRight))
      case "delete_right_or_leave":
        if (this.isEmpty) return { type: "leave" }
        return this.#do(() => this.#editing.delete(deleteRight))
      case "yank":
        return this.#do(() => this.#editing.yank())
      case "undo":
        if (!this.#editing.undo() && this.text === "") return { type: "suspend" }
        return undefined
      case "redo":
        this.#editing.redo()
        return undefined
      case "complete":
        if (!this.#accept({ orFirst: true }) && !this.#acceptSuggestion()) this.#complete()
        return undefined
      case "previous_completion":
        this.#menu.select(-1, this.#editing.draft)
        return undefined
      case "cancel":
        return this.#cancel()
      case "search_history":
        this.#menu.close()
        this.#search.begin()
        return undefined
      case "paste":
      case "paste_image":
        return { type: "paste-image", orText: action === "paste" }
      case "interrupt":
        this.#menu.close()
        return { type: "interrupt", key: "ctrl+c" }
      case "suspend":
        return { type: "suspend" }
      case "redraw":
        return { type: "redraw" }
      case "external_editor":
        return { type: "external-editor" }
      case "toggle_tasks":
        return { type: "toggle-tasks" }
      case "expand_output":
        return { type: "expand-output" }
      case "left":
      case "word_left":
      case "word_right":
      case "line_start":
      case "line_end":
      case "draft_start":
      case "draft_end":
        return this.#move(MOVES[action])
      case "delete_word_left":
      case "delete_word_right":
      case "delete_to_start":
      case "delete_to_end":
        return this.#do(() => this.#editing.cut(CUTS[action]))
      default:
        return assertNever(action)
    }
  }

  #do(edit: () => void): undefined {
    edit()
  }

  #move(edit: DraftEdit): undefined {
    this.#editing.move(edit)
  }

  #type(text: string): void {
    const clean = cleanInput(text)
    if (clean !== "") this.#editing.type(clean)
  }

  #submit(): EditorAction | undefined {
    const { draft } = this.#editing
    if (endsWithBackslash(draft)) return this.#do(() => this.#editing.change(insertText(deleteLeft(draft), "\n")))
    if (this.#accept({ orFirst: false })) return undefined
    const original = this.#browsing.queued
    const { text } = draft
    if (text.trim() === "" && this.attachments.length === 0 && original === undefined) return undefined
    this.#leaveModes()
    this.#editing.reset()
    this.#menu.close()
    this.#vim.insert()
    this.#options.history.add(text)
    // A message that waits keeps its own images; those of the draft stay for the next one.
    return original === undefined
      ? { type: "submit", text, attachments: this.#pastes.takeImages() }
      : { type: "edit-queued", original, text }
  }

  /** Moves in the menu, by rows of the draft, or through queued messages and the history. */
  #vertical(direction: "up" | "down"): undefined {
    const { draft } = this.#editing
    if (this.#menu.select(direction === "up" ? -1 : 1, draft)) return undefined
    const layout = this.#layoutOf(draft.text, this.#width)
    this.#goalColumn ??= layout.positionOf(draft.cursor).column
    const moved = moveRows(draft, layout, { rows: direction === "up" ? -1 : 1, column: this.#goalColumn })
    if (moved !== undefined) return this.#move(() => moved)
    const entry = this.#browsing.move(direction === "up" ? "older" : "newer", draft)
    if (entry === undefined) return undefined
    this.#goalColumn = undefined
    this.#isBrowsing = true
    return this.#do(() => this.#editing.change(entry))
  }

  /** On an empty draft it removes the last attachment. A token of a pasted text is removed as a whole. */
  #deleteLeft(): undefined {
    const { text, cursor } = this.#editing.draft
    if (text === "") this.#pastes.removeLastImage()
    const token = pasteTokenEndingAt(text, cursor)
    if (token > 0) this.#editing.change(deleteRange({ text, cursor }, cursor - token, cursor))
    else this.#editing.delete(deleteLeft)
  }

  #cancel(): EditorAction | undefined {
    if (this.#menu.menu !== undefined) return this.#do(() => this.#menu.close())
    this.#vim.leaveInsert()
    if (this.text !== "") return undefined
    // It stops what runs, and must not be taken for the first of two when that has just ended.
    if (this.isWorking) return { type: "interrupt", key: "escape" }
    const now = this.#options.now()
    if (now - this.#escapedAt < SECOND_ESCAPE_MS) {
      this.#escapedAt = Number.NEGATIVE_INFINITY
      return { type: "go-back" }
    }
    this.#escapedAt = now
    this.hint("Press Esc again to go back to an earlier message.", SECOND_ESCAPE_MS)
    return { type: "interrupt", key: "escape" }
  }

  #paste(pasted: string, newlines: number): EditorAction | undefined {
    const text = cleanInput(pasted)
    this.#search.end()
    if (text === "") return { type: "paste-image", orText: false }
    this.#vim.dropKeys()
    this.#pastes.insert(text, newlines)
    return undefined
  }

  #suggestion(): string {
    if (!this.#showsSuggestions || this.text === "" || this.#vim.isNormal || this.#browsing.queued !== undefined)
      return ""
    const { history, commands } = this.#options
    return suggestRest(this.#editing.draft, { history: history.entries(), commands: commands() })
  }

  #acceptSuggestion(): boolean {
    const rest = this.#suggestion()
    if (rest !== "") this.#editing.insert(rest)
    return rest !== ""
  }

  #accept(options: { readonly orFirst: boolean }): boolean {
    const accepted = this.#menu.accept(this.#editing.draft, options)
    if (accepted !== undefined) this.#editing.change(accepted)
    return accepted !== undefined
  }

  #complete(): void {
    const { draft } = this.#editing
    if (draft.text === "" || this.#vim.isNormal || this.#search.search !== undefined || this.#isBrowsing)
      this.#menu.close()
    else this.#menu.request(draft, this.#options.completion)
  }

  #leaveModes(): void {
    this.#search.end()
    this.#prefix = undefined
    this.#goalColumn = undefined
    this.#browsing.end()
  }
}

/** An odd number of backslashes before the cursor, which is at the end of its line. */
function endsWithBackslash(draft: Draft): boolean {
  return draft.cursor === lineEnd(draft) && /(?:^|[^\\])(?:\\\\)*\\$/u.test(draft.text.slice(0, draft.cursor))
}
