import { deleteRange, insertText } from "../../../terminal/editor/draft.ts"
import type { Draft } from "../../../terminal/editor/draft.ts"
import type { CompletionSource } from "./completion-source.ts"
import { moveSelection, openMenu, selectedItem } from "./menu.ts"
import type { Menu } from "./menu.ts"

/** Asks for completions of the draft and shows those that arrive while it is still the same. */
export interface MenuControl {
  readonly menu: Menu | undefined
  request(draft: Draft, source: CompletionSource): void
  close(): void
  /** Returns false when no menu of this draft is open. */
  select(by: 1 | -1, draft: Draft): boolean
  /**
   * The draft with the selected completion, or else with the first one if that is wanted. Undefined when there is none, or when the
   * selected one is typed already.
   */
  accept(draft: Draft, options: { readonly orFirst: boolean }): Draft | undefined
}

export function createMenuControl(changed: () => void): MenuControl {
  let asking = new AbortController()
  let open: { readonly menu: Menu; readonly draft: Draft } | undefined
  // Completions of an earlier draft would replace the wrong part.
  const menuOf = (draft: Draft): Menu | undefined => (open?.draft === draft ? open.menu : undefined)
  return {
    get menu() {
      return open?.menu
    },
    request: (draft, source) => {
      asking.abort()
      asking = new AbortController()
      const { signal } = asking
      const show = (menu: Menu | undefined): void => {
        if (signal.aborted || (menu === undefined && open === undefined)) return
        open = menu === undefined ? undefined : { menu, draft }
        changed()
      }
      source.complete(draft.text, draft.cursor, signal).then(
        (completions) => {
          show(openMenu(completions))
        },
        // A source that fails offers nothing, so that it cannot disturb typing.
        () => {
          show(undefined)
        },
      )
    },
    close: () => {
      asking.abort()
      open = undefined
    },
    select: (by, draft) => {
      const menu = menuOf(draft)
      if (menu !== undefined) open = { menu: moveSelection(menu, by), draft }
      return menu !== undefined
    },
    accept: (draft, { orFirst }) => {
      const menu = menuOf(draft)
      if (menu === undefined) return undefined
      const { start, end, items } = menu.completions
      const item = selectedItem(menu) ?? (orFirst ? items[0] : undefined)
      if (item === undefined) return undefined
      const isTyped = item.text.trimEnd() === draft.text.slice(start, end)
      return isTyped && !orFirst ? undefined : insertText(deleteRange(draft, start, end), item.text)
    },
  }
}
