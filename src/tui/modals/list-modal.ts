import { errorMessage } from "../../base/system-error.ts"
import type { Choice, ChoiceAction, ChoiceList, Picked, Selection } from "../../commands/choice-list.ts"
import type { Drawing, Position, Row } from "../drawing.ts"
import type { KeyEvent } from "../screen/key-event.ts"
import { type Interaction, listFooter } from "./list-footer.ts"
import { MOVES, PREVIEW_PAGES } from "./list-keys.ts"
import { createListLevel, type ListLevel } from "./list-level.ts"
import { listRows, wantedRows } from "./list-rows.ts"
import { hintRow, titleRow } from "./modal-rows.ts"
import type { Decision, Modal, ModalView, UnusedKeys } from "./modal.ts"
import { createPreviewPane, type PreviewPane, type RenderPreview } from "./preview-pane.ts"
import { createTextField } from "./text-field.ts"

export interface ListModalOptions {
  /** Renders previews. Without it, they are shown as plain text. */
  readonly renderPreview?: RenderPreview
}

interface Level<T> extends ListLevel<T> {
  readonly pane: PreviewPane<T>
}

/** A list with a filter. The decision is the choice, or undefined when the user leaves. */
export function createListModal<T>(list: ChoiceList<T>, options: ListModalOptions = {}): Modal<Picked<T> | undefined> {
  return new ListModal(list, options)
}

class ListModal<T> implements Modal<Picked<T> | undefined> {
  changed?: (decision?: Decision<Picked<T> | undefined>) => void
  readonly #options: ListModalOptions
  /** The lists that are open; the last one is shown. */
  #levels: readonly Level<T>[]
  #interaction: Interaction<T> = LISTING
  /** The outcome of the last action. */
  #message = ""
  #highlighted: Choice<T> | undefined
  #page = 1
  #isDecided = false

  constructor(list: ChoiceList<T>, options: ListModalOptions) {
    this.#options = options
    this.#levels = [this.#openLevel(list)]
    this.#top.load()
  }

  get #top(): Level<T> {
    const top = this.#levels.at(-1)
    if (top === undefined) throw new Error("a list modal has at least one list")
    return top
  }

  draw(view: ModalView): Drawing {
    const { size, theme } = view
    const { columns } = size
    const level = this.#top
    const footer = listFooter(
      { level, isNested: this.#levels.length > 1, interaction: this.#interaction, message: this.#message },
      view,
    )
    const room = Math.max(1, size.rows - FRAME_ROWS - footer.rows.length)
    const paneRows = level.list.preview === undefined ? 0 : previewRows(room)
    const height = Math.min(room - paneRows, Math.max(wantedRows(level), level.matches.length))
    this.#page = Math.max(1, height - 1)
    const shown = listRows(level, { columns, height, theme })
    const filter = level.filter.draw({ prompt: "> ", columns, maxRows: 1 })
    const rows = [
      titleRow(theme, { title: titleText(level), fact: countText(level), role: "ui_accent", columns }),
      ...(level.filter.text === "" ? [`> ${hintRow(theme, promptText(level), columns - 2)}`] : filter.rows),
      ...shown,
      ...Array.from({ length: height - shown.length }, () => ""),
      ...(paneRows === 0 ? [] : this.#previewRows(paneRows, view)),
    ]
    const all = [...rows, ...footer.rows].slice(0, size.rows)
    const cursor: Position = footer.cursor ?? { row: 0, column: filter.cursor.column }
    const row = footer.cursor === undefined ? 1 : rows.length + footer.cursor.row
    return row < all.length ? { rows: all, cursor: { row, column: cursor.column } } : { rows: all }
  }

  key(event: KeyEvent): Decision<Picked<T> | undefined> | UnusedKeys | undefined {
    this.#message = ""
    const decision = this.#keyFor(event)
    if (decision === undefined) this.#followHighlight()
    return decision
  }

  close(): void {
    for (const level of this.#levels) closeLevel(level)
    if (this.#interaction.kind === "busy") this.#interaction.working.abort()
    if (!this.#isDecided) this.#levels[0]?.list.onHighlight?.(undefined)
    this.#isDecided = true
  }

  #keyFor(event: KeyEvent): Decision<Picked<T> | undefined> | UnusedKeys | undefined {
    const chord = event.type === "key" ? event.chord : ""
    const leaves = chord === "escape" || chord === "ctrl+c"
    const interaction = this.#interaction
    switch (interaction.kind) {
      case "list":
        return leaves ? this.#leave(chord) : this.#listKey(event, chord)
      case "confirm":
        this.#interaction = LISTING
        if (interaction.isAgreed && chord === "enter") interaction.run()
        else if (!interaction.isAgreed && event.type === "key" && /^y$/iu.test(event.text))
          this.#interaction = { ...interaction, isAgreed: true }
        return undefined
      case "input":
        if (leaves) this.#interaction = LISTING
        else if (chord === "enter") {
          this.#interaction = LISTING
          interaction.run(interaction.field.text.trim())
        } else interaction.field.key(event)
        return undefined
      case "busy":
        if (leaves) {
          interaction.working.abort()
          this.#interaction = LISTING
          this.#message = "Cancelled."
          return undefined
        }
        return { unused: [event] }
      default:
        return interaction satisfies never
    }
  }

  /** Esc goes back to the list before; Ctrl+C leaves all of them. */
  #leave(chord: string): Decision<undefined> | undefined {
    const level = this.#top
    if (chord === "escape" && this.#levels.length > 1) {
      closeLevel(level)
      this.#levels = this.#levels.slice(0, -1)
      return undefined
    }
    this.#levels[0]?.list.onHighlight?.(undefined)
    this.#isDecided = true
    return { decision: undefined }
  }

  #listKey(event: KeyEvent, chord: string): Decision<Picked<T>> | undefined {
    const level = this.#top
    const { selected, highlighted } = level
    const action = level.list.actions?.find((each) => each.chord === chord)
    if (action !== undefined) {
      if (highlighted !== undefined && action.appliesTo?.(highlighted) !== false) this.#startAction(action, highlighted)
      return undefined
    }
    const target = MOVES[chord]?.(selected, { page: this.#page, last: level.matches.length - 1 })
    if (target !== undefined) {
      level.move(target)
      return undefined
    }
    if (chord === "enter") return highlighted === undefined ? undefined : this.#select(highlighted)
    if (chord === "tab" && level.list.modes !== undefined) level.nextMode()
    else if (PREVIEW_PAGES[chord] !== undefined && level.list.preview !== undefined)
      level.pane.scroll(PREVIEW_PAGES[chord])
    else if (event.type === "key" && level.hasDigits && level.filter.text === "" && /^[1-9]$/u.test(event.text)) {
      const choice = level.matches[Number(event.text) - 1]
      return choice === undefined ? undefined : this.#select(choice)
    } else level.filterKey(event)
    return undefined
  }

  #select(choice: Choice<T>): Decision<Picked<T>> | undefined {
    const { list, mode } = this.#top
    const picked = { value: choice.value, mode }
    if (list.select === undefined) {
      this.#isDecided = true
      return { decision: picked }
    }
    const { select } = list
    this.#work(choice, async (signal) => {
      const selection = await select(choice.value, { mode, signal })
      if (signal.aborted) return undefined
      return this.#apply(selection, picked)
    })
    return undefined
  }

  #apply(selection: Selection<T>, picked: Picked<T>): Decision<Picked<T>> | undefined {
    switch (selection.kind) {
      case "done":
        this.#isDecided = true
        return { decision: picked }
      case "open":
        this.#levels = [...this.#levels, this.#openLevel(selection.list)]
        this.#top.load()
        return undefined
      case "back":
        if (this.#levels.length > 1) {
          closeLevel(this.#top)
          this.#levels = this.#levels.slice(0, -1)
        }
        this.#reload()
        this.#message = selection.note
        return undefined
      case "stay":
        this.#message = selection.note
        return undefined
      default:
        return selection satisfies never
    }
  }

  #startAction(action: ChoiceAction<T>, choice: Choice<T>): void {
    const run = (input: string): void => {
      this.#work(choice, async (signal) => {
        const message = await action.run(choice, { input, signal })
        if (signal.aborted) return undefined
        this.#reload()
        this.#message = message ?? ""
        return undefined
      })
    }
    const confirmed = (input: string): void => {
      if (action.confirm === undefined) run(input)
      else
        this.#interaction = {
          kind: "confirm",
          question: action.confirm(choice),
          isAgreed: false,
          run: () => run(input),
        }
    }
    if (action.input === undefined) confirmed("")
    else {
      const { label, text } = action.input(choice)
      this.#interaction = { kind: "input", label, field: createTextField({ text }), run: confirmed }
    }
  }

  /** Runs something that takes time. Esc cancels it. */
  #work(choice: Choice<T>, work: (signal: AbortSignal) => Promise<Decision<Picked<T>> | undefined>): void {
    const working = new AbortController()
    const busy: Interaction<T> = { kind: "busy", working, choice }
    this.#interaction = busy
    const ended = (decision?: Decision<Picked<T>>): void => {
      if (this.#interaction === busy) this.#interaction = LISTING
      this.#followHighlight()
      this.changed?.(decision)
    }
    work(working.signal).then(ended, (error: unknown) => {
      if (working.signal.aborted) return
      this.#message = `That failed: ${errorMessage(error)}.`
      ended()
    })
  }

  #reload(): void {
    this.#top.pane.clear()
    this.#top.load()
  }

  #openLevel(list: ChoiceList<T>): Level<T> {
    const changed = (): void => {
      this.#followHighlight()
      this.changed?.()
    }
    const { renderPreview } = this.#options
    const pane = createPreviewPane(list, { changed, ...(renderPreview === undefined ? {} : { render: renderPreview }) })
    return Object.assign(createListLevel(list, changed), { pane })
  }

  #followHighlight(): void {
    const { highlighted, pane, list } = this.#top
    pane.show(highlighted)
    if (highlighted === undefined || highlighted === this.#highlighted || this.#isDecided) return
    this.#highlighted = highlighted
    list.onHighlight?.(highlighted)
  }

  #previewRows(height: number, { theme, size: { columns } }: ModalView): readonly Row[] {
    const rows = this.#top.pane.draw({ theme, columns, height: height - 1 })
    const rule = theme.paint("ui_accent", "─".repeat(columns))
    return [rule, ...rows, ...Array.from({ length: height - 1 - rows.length }, () => "")]
  }
}

const LISTING = { kind: "list" } as const
const FRAME_ROWS = 2
const MIN_ROOM_FOR_PREVIEW = 9
const MIN_LIST_ROWS = 4

/** The list keeps about two fifths; on short terminals there is no preview. */
function previewRows(room: number): number {
  return room < MIN_ROOM_FOR_PREVIEW ? 0 : room - Math.max(MIN_LIST_ROWS, Math.floor(room * 0.4))
}

function closeLevel<T>(level: Level<T>): void {
  level.close()
  level.pane.close()
}

function titleText<T>({ list, mode }: Level<T>): string {
  return mode === undefined ? list.title : `${list.title} · ${mode}`
}

function countText<T>({ state, filter, list, matches, choices }: Level<T>): string {
  if (state !== "ready" || choices.length === 0) return ""
  return filter.text === "" || list.isSecret === true
    ? String(choices.length)
    : `${matches.length} of ${choices.length}`
}

function promptText<T>({ list }: Level<T>): string {
  if (list.isSecret === true) return "type the value; it is not shown"
  if (list.typedText !== undefined) return list.typedText
  return list.freeEntry === undefined ? "type to filter" : "type to filter, or type your own value"
}
