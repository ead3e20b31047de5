import { plainText } from "../../terminal/printable-text.ts"
import type { Terminal } from "../../terminal/terminal.ts"
import type { Row } from "../drawing.ts"
import { rowOf, span, wrapSpans } from "../render/spans.ts"
import type { Screen } from "../screen/screen.ts"

/** The streams of a command while the full UI is open. */
export interface ScreenTerminal extends Terminal {
  /** From now on everything goes to the terminal itself. */
  detach(): void
}

/** Text is printed above the live area. Questions give the terminal back and are asked line by line. */
export function createScreenTerminal(screen: Screen, lines: Terminal): ScreenTerminal {
  let attached = true
  let unfinished = ""
  const print = (text: string): void => {
    const [first = "", ...rest] = plainText(text).split("\n")
    if (rest.length === 0) {
      unfinished += first
      return
    }
    const complete = [unfinished + first, ...rest.slice(0, -1)]
    unfinished = rest.at(-1) ?? ""
    screen.print(complete.flatMap((line) => textRows(line, screen.size.columns)))
  }
  const put = (text: string, stream: "out" | "err"): void => {
    if (attached) print(text)
    else lines[stream](text)
  }
  const asked = async <T>(question: () => Promise<T>): Promise<T> => {
    if (!attached) return await question()
    if (unfinished !== "") print("\n")
    return await screen.release(question)
  }
  return {
    out: (text) => put(text, "out"),
    err: (text) => put(text, "err"),
    line: (text = "") => put(`${text}\n`, "out"),
    errLine: (text) => put(`${text}\n`, "err"),
    styledLine: (text, stream) => {
      if (attached) print(`${text}\n`)
      else lines.styledLine(text, stream)
    },
    stdinIsTty: lines.stdinIsTty,
    stdinIsPiped: lines.stdinIsPiped,
    stdoutIsTty: lines.stdoutIsTty,
    stderrIsTty: lines.stderrIsTty,
    get columns() {
      return attached ? screen.size.columns : lines.columns
    },
    get rows() {
      return attached ? screen.size.rows : lines.rows
    },
    get live() {
      return attached ? undefined : lines.live
    },
    movesCursor: lines.movesCursor,
    lend: (giveBack) => lines.lend(giveBack),
    onResize: (listener) => lines.onResize(listener),
    color: lines.color,
    get closed() {
      return lines.closed
    },
    onClose: (listener) => lines.onClose(listener),
    ask: (question, options) => asked(() => lines.ask(question, options)),
    confirm: (question) => asked(() => lines.confirm(question)),
    readStdin: (options) => lines.readStdin(options),
    flush: () => lines.flush(),
    detach: () => {
      if (attached && unfinished !== "") print("\n")
      attached = false
    },
  }
}

/** Plain text as rows of the screen. A line that is too long continues below its indent. */
export function textRows(text: string, columns: number): readonly Row[] {
  return plainText(text)
    .replaceAll("\t", "    ")
    .split("\n")
    .flatMap((line) => {
      const indent = line.length - line.trimStart().length
      const space = " ".repeat(indent < columns / 2 ? indent : 0)
      return wrapSpans([span(line.trim())], columns - space.length).map((part) => space + rowOf(part))
    })
}
