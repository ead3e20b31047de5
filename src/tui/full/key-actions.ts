import { assertNever } from "../../base/assert-never.ts"
import { systemClock } from "../../base/clock.ts"
import type { Environment } from "../../config/environment.ts"
import type { Home } from "../../config/home.ts"
import type { EditorAction } from "../editor/editor-action.ts"
import type { Editor } from "../editor/editor.ts"
import type { Screen } from "../screen/screen.ts"
import type { InputQueue } from "./input-queue.ts"

/** Does what a key of the editor asks for beyond the draft. */
export interface KeyActions {
  run(action: EditorAction): void
  /** A turn or command has begun or ended. */
  activityChanged(): void
}

export interface KeyActionsOptions {
  readonly home: Home
  readonly environment: Environment
  readonly signal: AbortSignal
  readonly screen: Pick<Screen, "suspend" | "redraw" | "release">
  readonly editor: Editor
  readonly inputs: InputQueue
  /** Messages that wait for the end of the turn. */
  readonly outbox: string[]
  readonly toggleTasks: () => void
  readonly expandOutput: () => Promise<void>
  readonly changed: () => void
  /** Starts work that nothing waits for. */
  readonly begin: (work: () => Promise<void>) => void
}

/** A second Ctrl+C at the empty prompt within this time leaves. */
const LEAVE_WITHIN_MS = 2000

export function createKeyActions(options: KeyActionsOptions): KeyActions {
  return new EditorKeyActions(options)
}

class EditorKeyActions implements KeyActions {
  readonly #options: KeyActionsOptions
  #leaveRequestedAt = Number.NEGATIVE_INFINITY
  #interruptedAt = Number.NEGATIVE_INFINITY

  constructor(options: KeyActionsOptions) {
    this.#options = options
  }

  activityChanged(): void {
    this.#interruptedAt = Number.NEGATIVE_INFINITY
  }

  run(action: EditorAction): void {
    const { screen, editor, inputs, outbox, begin } = this.#options
    switch (action.type) {
      case "submit":
        this.#leaveRequestedAt = Number.NEGATIVE_INFINITY
        inputs.submit({ text: action.text, images: action.attachments.map(({ part }) => part) })
        return
      case "edit-queued": {
        const index = outbox.indexOf(action.original)
        if (index === -1) inputs.submit({ text: action.text, images: [] })
        else outbox.splice(index, 1, ...(action.text.trim() === "" ? [] : [action.text]))
        return
      }
      case "interrupt":
        if (action.key === "escape") this.#escape()
        else this.#interrupt()
        return
      case "go-back":
        if (inputs.listener === undefined) inputs.submit({ text: "/undo list", images: [] })
        return
      case "leave":
        if (inputs.listener === undefined) inputs.end()
        else editor.hint("A reply is being generated. Ctrl+C interrupts it, /quit leaves.")
        return
      case "suspend":
        screen.suspend()
        return
      case "redraw":
        screen.redraw()
        return
      case "external-editor":
        begin(() => this.#editOutside())
        return
      case "toggle-tasks":
        this.#options.toggleTasks()
        return
      case "expand-output":
        begin(() => this.#options.expandOutput())
        return
      case "paste-image":
        begin(() => this.#pasteClipboard(action.orText))
        return
      default:
        assertNever(action)
    }
  }

  /** Ctrl+C: interrupts what runs, then clears the draft, then leaves. */
  #interrupt(): void {
    const { editor, inputs } = this.#options
    const now = systemClock.now()
    const { listener } = inputs
    if (listener !== undefined) {
      // The reply may end before the second Ctrl+C arrives, which leaves in both cases.
      this.#leaveRequestedAt = now
      listener.interrupt()
      return
    }
    if (!editor.isEmpty) {
      this.#leaveRequestedAt = Number.NEGATIVE_INFINITY
      editor.clear()
      editor.hint("Cleared. Ctrl+Z brings the text back.", LEAVE_WITHIN_MS)
      return
    }
    if (now - this.#leaveRequestedAt < LEAVE_WITHIN_MS) {
      inputs.end()
      return
    }
    this.#leaveRequestedAt = now
    editor.hint("Press Ctrl+C again to leave.", LEAVE_WITHIN_MS)
  }

  /** Escape interrupts too, but pressing it again does nothing worse. */
  #escape(): void {
    const now = systemClock.now()
    const { listener } = this.#options.inputs
    if (listener === undefined || now - this.#interruptedAt < LEAVE_WITHIN_MS) return
    this.#interruptedAt = now
    listener.interrupt()
  }

  async #editOutside(): Promise<void> {
    const { screen, editor, home, environment, changed } = this.#options
    const { editInExternalEditor } = await import("../../admin/editor-support/external-editor.ts")
    const edited = await screen.release(() => editInExternalEditor(editor.text, { home, environment }))
    if (edited.ok) editor.setText(edited.value)
    else editor.hint(edited.error)
    changed()
  }

  async #pasteClipboard(orText: boolean): Promise<void> {
    const { readClipboardContent } = await import("../../admin/editor-support/clipboard-content.ts")
    const { home, environment, signal, editor, changed } = this.#options
    const content = await readClipboardContent({ home, environment, clock: systemClock, orText, signal })
    if (!content.ok) editor.hint(content.error)
    else if (content.value.kind === "image") editor.attach(content.value.image)
    else {
      const action = editor.paste(content.value.text)
      if (action !== undefined) this.run(action)
    }
    changed()
  }
}
