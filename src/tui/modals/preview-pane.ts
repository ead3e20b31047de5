import { errorMessage } from "../../base/system-error.ts"
import type { Choice, ChoiceList, Preview } from "../../commands/choice-list.ts"
import { plainText } from "../../terminal/printable-text.ts"
import type { Row } from "../drawing.ts"
import { indentedRows } from "../question-text/quoted-rows.ts"
import type { Theme } from "../theme/theme.ts"
import { cutRow, hintRow, scrolledRows } from "./modal-rows.ts"

/** Renders a preview, for example a diff with its colours. */
export type RenderPreview = (
  preview: Preview,
  view: { readonly theme: Theme; readonly columns: number },
) => readonly Row[]

/** Text about the highlighted choice, loaded when it is highlighted. Late results for another choice are dropped. */
export interface PreviewPane<T> {
  show(choice: Choice<T> | undefined): void
  scroll(pages: number): void
  draw(view: { readonly theme: Theme; readonly columns: number; readonly height: number }): readonly Row[]
  /** Forgets what was loaded. */
  clear(): void
  close(): void
}

const MAX_KEPT = 20
const KEYS = { up: "Ctrl+B", down: "Ctrl+F" }

export function createPreviewPane<T>(
  list: ChoiceList<T>,
  { changed, render = plainPreview }: { readonly changed: () => void; readonly render?: RenderPreview },
): PreviewPane<T> {
  const loaded = new Map<Choice<T>, Preview>()
  let shown: Choice<T> | undefined
  let loading = new AbortController()
  let offset = 0
  let page = 1
  let rendered: { readonly preview: Preview; theme: Theme; columns: number; readonly rows: readonly Row[] } | undefined

  const keep = (choice: Choice<T>, preview: Preview): void => {
    loaded.set(choice, preview)
    const [oldest] = loaded.keys()
    if (loaded.size > MAX_KEPT && oldest !== undefined) loaded.delete(oldest)
    changed()
  }
  const load = async (choice: Choice<T>, signal: AbortSignal): Promise<void> => {
    const preview = await list.preview?.(choice, signal)
    if (!signal.aborted && preview !== undefined) keep(choice, preview)
  }
  const rowsOf = (preview: Preview, theme: Theme, columns: number): readonly Row[] => {
    if (rendered?.preview !== preview || rendered.theme !== theme || rendered.columns !== columns)
      rendered = { preview, theme, columns, rows: render(preview, { theme, columns }) }
    return rendered.rows
  }
  return {
    show: (choice) => {
      if (choice === shown) return
      shown = choice
      offset = 0
      loading.abort()
      loading = new AbortController()
      if (choice === undefined || list.preview === undefined || loaded.has(choice)) return
      const { signal } = loading
      load(choice, signal).catch((error: unknown) => {
        if (!signal.aborted) keep(choice, { kind: "text", text: `It could not be loaded: ${errorMessage(error)}.` })
      })
    },
    scroll: (pages) => {
      offset = Math.max(0, offset + pages * page)
    },
    draw: ({ theme, columns, height }) => {
      page = Math.max(1, height - 2)
      if (shown === undefined) return []
      const preview = loaded.get(shown)
      if (preview === undefined) return [hintRow(theme, "  Loading…", columns)]
      const scrolled = scrolledRows(rowsOf(preview, theme, columns), { height, offset, theme, columns, keys: KEYS })
      offset = scrolled.offset
      return scrolled.rows
    },
    clear: () => {
      loaded.clear()
      shown = undefined
    },
    close: () => loading.abort(),
  }
}

const TAB = "    "

/** The lines of a text, broken at words; those of a diff are cut at the edge. */
export const plainPreview: RenderPreview = ({ kind, text }, { theme, columns }) =>
  plainText(text)
    .replaceAll("\t", TAB)
    .trimEnd()
    .split("\n")
    .slice(0, MAX_LINES)
    .flatMap((line) => {
      if (kind !== "diff") return indentedRows(line, columns)
      const row = cutRow(line, columns)
      if (/^(?:\+\+\+|---)/u.test(line)) return [row]
      if (line.startsWith("+")) return [theme.paint("ui_ok", row)]
      return [line.startsWith("-") ? theme.paint("ui_error", row) : row]
    })

const MAX_LINES = 2000
