import type { Drawing } from "../drawing.ts"
import type { Modal, ModalView } from "../modals/modal.ts"
import type { KeyEvent } from "../screen/key-event.ts"

/** Shows one modal at a time; others wait until it is closed. */
export interface ModalHost {
  /** `create` is called when the modal is shown. Resolves with the decision; undefined when the signal aborts first. */
  ask<T>(create: () => Modal<T>, signal: AbortSignal, options?: AskOptions): Promise<T | undefined>
  readonly isOpen: boolean
  draw(view: ModalView): Drawing
  key(event: KeyEvent, now: number): void
}

export interface AskOptions {
  /** The user has closed the modal with Ctrl+C. Called before the decision is returned. */
  readonly interrupted?: () => void
}

export interface ModalHostOptions {
  readonly changed: () => void
  /** A key that no modal has used, because the user was typing a message. */
  readonly unused: (event: KeyEvent) => void
  /** Text that was typed into a modal and not sent. */
  readonly unsent: (text: string) => void
}

interface Question {
  open(): void
  draw(view: ModalView): Drawing
  key(event: KeyEvent, now: number): void
}

export function createModalHost({ changed, unused, unsent }: ModalHostOptions): ModalHost {
  const waiting: Question[] = []
  return {
    ask: <T>(create: () => Modal<T>, signal: AbortSignal, { interrupted }: AskOptions = {}) => {
      if (signal.aborted) return Promise.resolve(undefined)
      const { promise, resolve } = Promise.withResolvers<T | undefined>()
      let modal: Modal<T> | undefined
      const close = (decision: T | undefined): void => {
        const index = waiting.indexOf(question)
        if (index === -1) return
        waiting.splice(index, 1)
        signal.removeEventListener("abort", aborted)
        const text = modal?.unsentText?.() ?? ""
        if (text !== "") unsent(text)
        modal?.close?.()
        resolve(decision)
        waiting[0]?.open()
        changed()
      }
      const aborted = (): void => close(undefined)
      const question: Question = {
        open: () => {
          if (modal !== undefined) return
          modal = create()
          modal.changed = (decided) => {
            if (decided === undefined) changed()
            else close(decided.decision)
          }
        },
        draw: (view) => modal?.draw(view) ?? { rows: [] },
        key: (event, now) => {
          const decided = modal?.key(event, now)
          if (decided === undefined) return
          if ("unused" in decided) {
            for (const key of decided.unused) unused(key)
            return
          }
          if (event.type === "key" && event.chord === "ctrl+c") interrupted?.()
          close(decided.decision)
        },
      }
      signal.addEventListener("abort", aborted, { once: true })
      waiting.push(question)
      waiting[0]?.open()
      changed()
      return promise
    },
    get isOpen() {
      return waiting.length > 0
    },
    draw: (view) => waiting[0]?.draw(view) ?? { rows: [] },
    key: (event, now) => waiting[0]?.key(event, now),
  }
}
