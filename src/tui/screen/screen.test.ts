import xterm from "@xterm/headless"
import type { IBufferCell, Terminal } from "@xterm/headless"
import { describe, expect, test } from "vitest"

import { virtualScreen } from "../../../test/fixtures/tui/virtual-screen.ts"
import { seededRandom } from "../../../test/support/seeded-random.ts"
import type { Drawing, Size } from "../drawing.ts"
import { terminalTraits } from "./terminal-modes.ts"

const BEGIN = "\u{1B}[?2026h"
const END = "\u{1B}[?2026l"

/** Without the bytes around a frame. */
function frameBytes(written: string): string {
  expect([written.startsWith(BEGIN), written.endsWith(END)]).toEqual([true, true])
  return written.slice(BEGIN.length, -END.length)
}

describe("printing and the live area", () => {
  test("rows are printed above the live area, which stays at the end", async () => {
    let drawing: Drawing = { rows: ["────", "> hi"], cursor: { row: 1, column: 4 } }
    using view = virtualScreen({ rows: 6, live: () => drawing })
    await view.settle()
    expect([view.rows(), view.cursor()]).toEqual([
      ["────", "> hi"],
      [1, 4],
    ])
    view.screen.print(["one", "two"])
    await view.settle()
    expect([view.rows(), view.cursor()]).toEqual([
      ["one", "two", "────", "> hi"],
      [3, 4],
    ])
    view.screen.print(["three", "four", "five", "six"])
    drawing = { rows: ["────", "> hi there"], cursor: { row: 1, column: 2 } }
    await view.settle()
    const rows = ["one", "two", "three", "four", "five", "six", "────", "> hi there"]
    expect([view.rows(), view.cursor()]).toEqual([rows, [7, 2]])
    view.screen.close()
    await view.settle()
    expect([view.rows(), view.cursor()]).toEqual([rows.slice(0, 6), [6, 0]])
  })

  test("of a changed row only the changed cells are written, and nothing when nothing changed", async () => {
    let drawing: Drawing = {
      rows: ["streamed text", "\u{1B}[2mtime 1s total\u{1B}[22m", "> "],
      cursor: { row: 2, column: 2 },
    }
    using view = virtualScreen({ live: () => drawing })
    await view.settle()
    const count = view.written.length
    view.screen.update("now")
    await view.settle()
    expect(view.written.length).toBe(count)
    drawing = { rows: ["streamed text, more", "\u{1B}[2mtime 2s total\u{1B}[22m", "> "], cursor: { row: 2, column: 2 } }
    view.screen.update("now")
    await view.settle()
    expect(frameBytes(view.written.at(-1) ?? "")).toBe(
      "\u{1B}7\u{1B}[2A\u{1B}[14G, more\u{1B}[B\u{1B}[6G\u{1B}[2m2\u{1B}[m\u{1B}8",
    )
    drawing = { rows: ["streamed", "\u{1B}[2mtime 2s total\u{1B}[22m", "> "], cursor: { row: 2, column: 2 } }
    view.screen.update("now")
    await view.settle()
    // A change of one row cannot be seen half done, so it needs no marks around it.
    expect(view.written.at(-1)).toBe("\u{1B}7\u{1B}[2A\u{1B}[9G\u{1B}[K\u{1B}8")
    expect(view.rows()).toEqual(["streamed", "time 2s total", ">"])
  })

  test("rows of the live area that are printed where they are, and rows that move, are not written again", async () => {
    const footer = ["the rule above the editor", "the status bar with some figures", "> draft"]
    let open = ["first row of the answer", "second row of the answer"]
    using view = virtualScreen({
      rows: 8,
      live: () => ({ rows: [...open, ...footer], cursor: { row: open.length + 2, column: 2 } }),
    })
    await view.settle()
    for (const next of ["third row", "fourth row", "fifth row", "sixth row"]) {
      view.screen.print(open.slice(0, 1))
      open = [...open.slice(1), next]
      view.screen.update("soon")
      await view.settle()
      expect(frameBytes(view.written.at(-1) ?? "")).toBe(
        `\u{1B}[3G\r\n\u{1B}[3A\u{1B}[L${next}\u{1B}[3B\u{1B}[3G`.replace("\u{1B}[3G\r", "\r"),
      )
    }
    expect(view.rows()).toEqual([
      "first row of the answer",
      "second row of the answer",
      "third row",
      "fourth row",
      "fifth row",
      "sixth row",
      ...footer,
    ])
  })

  test("a live area that is too tall keeps its end, or the rows around the cursor", async () => {
    const rows = Array.from({ length: 10 }, (_, index) => `row ${index}`)
    let cursor = { row: 9, column: 3 }
    using view = virtualScreen({ rows: 4, live: () => ({ rows, cursor }) })
    await view.settle()
    expect([view.rows(), view.cursor()]).toEqual([rows.slice(6), [3, 3]])
    cursor = { row: 2, column: 1 }
    view.screen.update("now")
    await view.settle()
    expect([view.rows(), view.cursor()]).toEqual([rows.slice(2, 6), [0, 1]])
  })

  test("a row cannot move the cursor, change a mode or exceed the columns", async () => {
    const hostile = "\u{1B}[2J\u{1B}]0;title\u{7}\u{1B}[?1049h\ra\tb\u{9B}c\u{1B}[1mbold\u{1B}[m".padEnd(200, "x")
    using view = virtualScreen({ columns: 20, live: () => ({ rows: [hostile, "end"] }) })
    await view.settle()
    expect(view.rows()).toEqual([`abcbold${"x".repeat(13)}`, "end"])
    expect(view.written.join("")).not.toMatch(/\[2J|\]0|1049|\t/)
  })

  test("a printed row that is too wide stays one line for the terminal", async () => {
    using view = virtualScreen({ columns: 20, rows: 5, live: () => ({ rows: ["> "], cursor: { row: 0, column: 2 } }) })
    await view.settle()
    const wide = `${"0123456789".repeat(2)}日本語 ${"x".repeat(19)}   tail`
    view.screen.print(["before", wide, "after"])
    await view.settle()
    expect(view.lines()).toEqual(["before", wide, "after", ">"])
    expect(view.rows().length).toBe(6)
  })

  test("the cursor is hidden while the drawing has none", async () => {
    let drawing: Drawing = { rows: ["busy"] }
    using view = virtualScreen({ live: () => drawing })
    await view.settle()
    expect(view.written.at(-1)).toContain("\u{1B}[?25l")
    drawing = { rows: ["busy"], cursor: { row: 0, column: 0 } }
    view.screen.update("now")
    await view.settle()
    expect(view.written.at(-1)).toBe("\r\u{1B}[?25h")
  })
})

/** A plain oracle: what a terminal shows when all rows are written one after another. */
test("any sequence of frames shows the same as writing everything once, with styles", async () => {
  const random = seededRandom(14)
  const pick = (count: number): number => Math.floor(random() * count)
  const words = ["alpha", "beta", "日本", "é", "e\u{301}", "  ", "gamma-delta", "한국어", "x"]
  const styles = ["1", "2", "31", "48;5;17", "38;2;1;2;3", "4;32", "7"]
  const row = (): string =>
    Array.from({ length: pick(3) }, () => {
      const word = words[pick(words.length)] ?? ""
      return pick(3) === 0 ? `\u{1B}[${styles[pick(styles.length)]}m${word}\u{1B}[0m` : word
    }).join(pick(2) === 0 ? " " : "")
  for (let round = 0; round < 5; round += 1) {
    const [columns, rows] = [30, 4 + pick(8)]
    let live: string[] = [row()]
    using view = virtualScreen({
      columns,
      rows,
      live: () => ({ rows: live, cursor: { row: pick(live.length), column: pick(columns) } }),
    })
    const printed: string[] = []
    for (let frame = 0; frame < 40; frame += 1) {
      const leaving = pick(3) === 0 ? live.splice(0, pick(live.length)) : []
      const fresh = Array.from({ length: pick(4) === 0 ? pick(2 * rows) : 0 }, row)
      for (const text of [...leaving, ...fresh]) printed.push(text)
      view.screen.print([...leaving, ...fresh])
      const change = pick(5)
      if (change === 0) live.splice(pick(live.length + 1), 0, row())
      if (change === 1) live.splice(pick(live.length), 1)
      if (change === 2) live[pick(live.length)] = row()
      if (change === 3 && !live.at(-1)?.includes("more")) live[live.length - 1] += "more"
      if (live.length === 0) live = [row()]
      live = live.slice(-rows)
      view.screen.update("now")
      await view.settle()
      const oracle = new xterm.Terminal({ cols: columns, rows, scrollback: 2000, allowProposedApi: true })
      await new Promise<void>((resolve) => oracle.write([...printed, ...live].join("\r\n"), resolve))
      expect(snapshot(view.terminal)).toEqual(snapshot(oracle))
      oracle.dispose()
    }
  }
})

/** All rows with the styles of their cells. */
function snapshot(terminal: Terminal): readonly string[] {
  const { active } = terminal.buffer
  const lines = Array.from({ length: active.length }, (_, index) => active.getLine(index))
  const end = lines.findLastIndex((line) => line?.translateToString().trim() !== "")
  return lines.slice(0, end + 1).map((line, index) => {
    // Rows that left the screen were compared before.
    if (index < end - 30) return line?.translateToString().trimEnd() ?? ""
    let text = ""
    for (let column = 0; column < terminal.cols; column += 1) text += cellText(line?.getCell(column))
    return text.trimEnd()
  })
}

function cellText(cell: IBufferCell | undefined): string {
  if (cell === undefined) return ""
  const blank = cell.getChars().trim() === "" && cell.getBgColor() === -1
  if (blank && cell.isInverse() === 0 && cell.isUnderline() === 0) return " "
  const style = [
    cell.getFgColor(),
    cell.getBgColor(),
    cell.isBold(),
    cell.isDim(),
    cell.isUnderline(),
    cell.isInverse(),
  ]
  return `${cell.getChars()}<${style.join()}>`
}

describe("resize", () => {
  test("the live area is drawn again where the terminal has moved it", async () => {
    const live = (width: number): Drawing => ({
      rows: ["─".repeat(width), "status".padEnd(width, "."), "> draft", "menu"],
      cursor: { row: 2, column: 7 },
    })
    using view = virtualScreen({ columns: 80, rows: 10, live: ({ columns }) => live(columns) })
    view.screen.print(["one", "x".repeat(80)])
    await view.settle()
    view.resize(45, 10)
    await view.settle()
    expect(view.lines()).toEqual(["one", "x".repeat(80), ...live(45).rows])
    view.resize(100, 6)
    await view.settle()
    expect(view.lines()).toEqual(["one", "x".repeat(80), ...live(100).rows])
  })

  test("after 100 resizes with printing and streaming every row is there once and in order", async () => {
    const random = seededRandom(2026)
    const pick = (from: number, to: number): number => from + Math.floor(random() * (to - from + 1))
    let answer = ""
    let clock = 0
    const live = ({ columns }: { columns: number }): Drawing => ({
      rows: [
        answer.slice(-columns),
        "═".repeat(columns),
        `◆ model │ ${clock}s`.padEnd(columns, "."),
        `❯ ${"draft ".repeat(5)}`.slice(0, columns),
      ],
      cursor: { row: 3, column: 12 },
    })
    using view = virtualScreen({ columns: 80, rows: 24, live })
    const printed: string[] = []
    // 140 columns wrapped at 40 make four rows of one. What leaves the screen in this way belongs to the scrollback.
    const MIN_ROWS = 14
    for (let round = 0; round < 100; round += 1) {
      for (let burst = pick(1, 3); burst > 0; burst -= 1) view.resize(pick(40, 140), pick(MIN_ROWS, 40))
      if (pick(0, 1) === 0) await view.settle()
      answer = `${answer}${"streamed words ".slice(0, pick(0, 15))}`.slice(-300)
      clock += 1
      view.screen.update("soon")
      if (pick(0, 2) > 0) {
        const { columns } = view.screen.size
        const rows = Array.from({ length: pick(1, 6) }, (_, index) =>
          `#${printed.length + index} ${"words of a paragraph ".repeat(6)}`.slice(0, pick(5, columns)).trimEnd(),
        )
        for (const row of rows) printed.push(row)
        view.screen.print(rows)
      }
      if (pick(0, 1) === 0) await view.settle()
    }
    await view.settle()
    const expected = [...printed, ...live(view.screen.size).rows.map((row) => row.trimEnd())]
    expect(view.lines().map((line) => line.trimEnd())).toEqual(expected)
    expect(view.written.join("").replaceAll("\u{1B}", "ESC")).not.toMatch(/ESC\[[23]J|ESCc|1049/)
  })

  test("a live area that fills the window is not erased from the first cell on, which tmux keeps in its scrollback", async () => {
    const text = "words of a long paragraph ".repeat(24)
    const live = (columns: number, rows: number): Drawing => ({
      rows: [...(text.match(new RegExp(`.{1,${columns}}`, "gu")) ?? []), "❯"].slice(-rows),
      cursor: { row: Math.min(rows, Math.ceil(text.length / columns) + 1) - 1, column: 1 },
    })
    using view = virtualScreen({ columns: 110, rows: 12, live: ({ columns, rows }) => live(columns, rows) })
    await view.settle()
    const erasures: (readonly [number, number])[] = []
    view.terminal.parser.registerCsiHandler({ final: "J" }, () => {
      const { cursorX, cursorY } = view.terminal.buffer.active
      erasures.push([cursorX, cursorY])
      return false
    })
    for (const columns of [60, 110, 50]) {
      view.resize(columns, 12)
      await view.settle()
      expect(view.rows().filter((row) => row === "❯")).toEqual(["❯"])
    }
    expect(erasures.length).toBe(3)
    expect(erasures).not.toContainEqual([0, 0])
  })

  test("a terminal that may be tmux is asked once, behind the first frame, and its answer counts for the next resize", async () => {
    const traits = terminalTraits((name) => (name === "TERM" ? "screen-256color" : undefined))
    using view = virtualScreen({
      traits,
      identify: true,
      live: () => ({ rows: ["> "], cursor: { row: 0, column: 2 } }),
    })
    await view.settle()
    expect(view.written.slice(1).map((text) => text.includes(">"))).toEqual([true, true])
    expect(view.written.at(-1)).toBe("\u{1B}[>c")
    view.type("a\u{1B}[>84;0;0cb")
    await view.settle()
    expect(view.keys.map((event) => event.type === "key" && event.text)).toEqual(["a", "b"])
    const count = view.written.length
    view.resize(60, 24)
    await view.clock.advance(250)
    expect(view.written.length).toBe(count)
    await view.clock.advance(100)
    expect(view.written.length).toBe(count + 1)
    view.screen.redraw()
    await view.settle()
    expect(view.written.filter((text) => text.includes("[>c")).length).toBe(1)
  })

  test("a storm of resizes draws once per frame", async () => {
    using view = virtualScreen({ live: () => ({ rows: ["> "], cursor: { row: 0, column: 2 } }) })
    await view.settle()
    const count = view.written.length
    for (let columns = 79; columns > 40; columns -= 1) view.resize(columns, 24)
    await view.settle()
    expect(view.written.length).toBe(count + 1)
  })
})

describe("frames", () => {
  test("a frame for a key is drawn in the same turn of the event loop; others at most 30 times a second; none when idle", async () => {
    let draws = 0
    using view = virtualScreen({
      live: () => {
        draws += 1
        return { rows: [`frame ${draws}`] }
      },
    })
    await view.settle()
    const first = draws
    for (let ms = 0; ms < 1000; ms += 2) {
      view.screen.update("soon")
      await view.clock.advance(2)
    }
    expect(draws - first).toBeLessThanOrEqual(30)
    expect(draws - first).toBeGreaterThanOrEqual(25)
    await view.settle()
    expect(view.clock.nextWakeTime()).toBeUndefined()
    const before = draws
    view.screen.update("now")
    view.screen.update("now")
    await new Promise((resolve) => setImmediate(resolve))
    expect(draws).toBe(before + 1)
    await view.clock.advance(10_000)
    expect([draws, view.clock.nextWakeTime()]).toEqual([before + 1, undefined])
  })

  test("while the terminal takes no bytes frames are dropped and printed rows are kept", async () => {
    let draws = 0
    using view = virtualScreen({
      live: () => {
        draws += 1
        return { rows: [`frame ${draws}`] }
      },
    })
    await view.settle()
    view.block(true)
    view.screen.print(["one"])
    await view.settle()
    const writes = view.written.length
    for (const row of ["two", "three", "four"]) {
      view.screen.print([row])
      view.screen.update("now")
      await view.settle()
    }
    expect(view.written.length).toBe(writes)
    view.block(false)
    await view.settle()
    expect(view.rows()).toEqual(["one", "two", "three", "four", `frame ${draws}`])
    expect(draws).toBe(3)
  })

  test.each([
    // 100 tokens of about 4 characters per second, and 100 characters per second.
    ["400", 7, 6],
    ["100", 1, 6],
  ])(
    "prose with %s characters per second costs few bytes, with a status bar that counts",
    async (_name, most, limit) => {
      const random = seededRandom(6)
      const prose =
        "The terminal draws only what has changed, so a long answer costs little more than its own characters do. "
      const text = prose.repeat(200).slice(0, most * 2000)
      let shown = 0
      let printedTo = 0
      let start = 0
      using view = virtualScreen({
        columns: 80,
        rows: 24,
        live: () => ({
          rows: [
            text.slice(printedTo, shown),
            `\u{1B}[38;2;90;90;90m${"─".repeat(80)}\u{1B}[39m`,
            `\u{1B}[38;2;200;160;40m model-name\u{1B}[39m │ 12.4K/200K │ 6% │ ${Math.floor((view.clock.now() - start) / 1000)}s`,
            "❯ ",
          ],
          cursor: { row: 3, column: 2 },
        }),
      })
      start = view.clock.now()
      await view.settle()
      const before = view.written.length
      while (shown < text.length) {
        shown = Math.min(text.length, shown + 1 + Math.floor(random() * most))
        while (shown - printedTo > 78) {
          const end = text.lastIndexOf(" ", printedTo + 78)
          view.screen.print([text.slice(printedTo, end)])
          printedTo = end + 1
        }
        view.screen.update("soon")
        await view.clock.advance(10)
      }
      await view.settle()
      const bytes = Buffer.byteLength(view.written.slice(before).join(""))
      expect(bytes / text.length).toBeLessThan(limit)
      expect(view.rows().slice(0, -3).join(" ")).toBe(text.trimEnd())
    },
  )
})

describe("the terminal's owner", () => {
  const ENTER = "\u{1B}[?2004h\u{1B}[>1u"
  const LEAVE = "\u{1B}[<u\u{1B}[?2004l\u{1B}[?7h\u{1B}[?25h\u{1B}[m"

  test("modes are set at the start and restored at the end, once", async () => {
    const view = virtualScreen({ reportFocus: true, live: () => ({ rows: ["a", "b"], cursor: { row: 1, column: 1 } }) })
    await view.settle()
    expect(view.written[0]).toBe(`${ENTER}\u{1B}[?1004h`)
    view.type("\u{1B}[O")
    await view.settle()
    expect([view.screen.focused, view.keys]).toEqual([false, []])
    view.screen.print(["last words"])
    view.screen.close()
    view.screen.close()
    view.screen.print(["too late"])
    view.screen.update("now")
    await view.settle()
    expect([view.rows(), view.cursor(), view.rawModes]).toEqual([["last words"], [1, 0], [true, false]])
    expect(view.written.filter((text) => text.endsWith(`\u{1B}[?1004l${LEAVE}`)).length).toBe(1)
  })

  test("the end of the process restores the modes", async () => {
    const view = virtualScreen()
    const listeners = process.listeners("exit")
    await view.settle()
    listeners.at(-1)?.(0)
    expect(view.written.at(-1)).toContain(LEAVE)
    expect(process.listeners("exit").length).toBe(listeners.length - 1)
  })

  test("another program gets a terminal without modes and live area; what is printed meanwhile comes afterwards", async () => {
    using view = virtualScreen({ live: () => ({ rows: ["> draft"], cursor: { row: 0, column: 7 } }) })
    view.screen.print(["one"])
    await view.settle()
    const result = await view.screen.release(async () => {
      expect(view.rawModes).toEqual([true, false])
      expect(view.written.at(-1)).toContain(LEAVE)
      await view.settle()
      expect(view.rows()).toEqual(["one"])
      view.terminal.write("editor was here\r\n")
      view.screen.print(["two"])
      view.screen.update("now")
      view.screen.control("\u{7}")
      await view.settle()
      expect(view.rows()).toEqual(["one", "editor was here"])
      return 7
    })
    await view.settle()
    expect([result, view.rawModes.at(-1), view.rows()]).toEqual([7, true, ["one", "editor was here", "two", "> draft"]])
    await expect(view.screen.release(async () => await Promise.reject(new Error("no editor")))).rejects.toThrow(
      "no editor",
    )
    await view.settle()
    expect([view.rawModes.at(-1), view.rows().at(-1)]).toEqual([true, "> draft"])
  })

  test("suspending leaves the terminal to the shell, continuing takes it back", async () => {
    let stops = 0
    using view = virtualScreen({
      live: () => ({ rows: ["rule", "> draft"], cursor: { row: 1, column: 7 } }),
      stopProcess: () => {
        stops += 1
      },
    })
    view.screen.print(["one"])
    await view.settle()
    view.screen.suspend()
    expect([stops, view.rawModes.at(-1), view.written.at(-1)?.endsWith(LEAVE)]).toEqual([1, false, true])
    view.terminal.write("[1]+ Stopped\r\n$ fg\r\n")
    process.emit("SIGCONT", "SIGCONT")
    await view.settle()
    expect([view.rawModes.at(-1), view.rows()]).toEqual([true, ["one", "[1]+ Stopped", "$ fg", "rule", "> draft"]])
  })

  test("a process that was stopped from outside sets its modes again and draws in place", async () => {
    using view = virtualScreen({ live: () => ({ rows: ["rule", "> draft"], cursor: { row: 1, column: 7 } }) })
    view.screen.print(["one"])
    await view.settle()
    process.emit("SIGCONT", "SIGCONT")
    await view.settle()
    // The Kitty protocol counts requests, so the old one is taken back first.
    expect(view.written.join("").split("\u{1B}[>1u").length - view.written.join("").split("\u{1B}[<u").length).toBe(1)
    expect([view.rawModes, view.rows()]).toEqual([
      [true, false, true],
      ["one", "rule", "> draft"],
    ])
  })

  test.each(["input", "output"] as const)("a failing %s is reported once and is no exception", async (where) => {
    using view = virtualScreen({ live: () => ({ rows: ["x"] }) })
    await view.settle()
    const writes = view.written.length
    view.fail(where)
    view.fail("output")
    view.screen.print(["lost"])
    view.screen.update("now")
    await view.settle()
    view.screen.close()
    expect([view.ended(), view.written.length]).toEqual([1, writes])
    view.fail("output")
  })

  test("a hangup is the end of the terminal", () => {
    using view = virtualScreen()
    const listener = process.listeners("SIGHUP").at(-1)
    listener?.("SIGHUP")
    expect(view.ended()).toBe(1)
  })
})

describe("keys", () => {
  const chords = (view: ReturnType<typeof virtualScreen>): string =>
    view.keys.map((event) => (event.type === "key" ? event.chord : "paste")).join(" ")

  test("an escape alone is a key after 30 ms, the beginning of a sequence is not", async () => {
    using view = virtualScreen()
    await view.settle()
    view.type("\u{1B}")
    await view.clock.advance(20)
    expect(chords(view)).toBe("")
    view.type("[A")
    await view.clock.advance(0)
    expect(chords(view)).toBe("up")
    view.type("\u{1B}")
    await view.clock.advance(0)
    await view.clock.advance(31)
    await view.clock.advance(0)
    expect([chords(view), view.clock.nextWakeTime()]).toEqual(["up escape", undefined])
  })

  test("Enter typed before raw mode is Enter, later a newline is Ctrl+J; the last listener receives the keys", async () => {
    using view = virtualScreen()
    view.type("hi\n")
    await view.settle()
    view.type("\n")
    await view.settle()
    expect(chords(view)).toBe("h i enter ctrl+j")
    let early = ""
    view.screen.onKey((event) => {
      early += event.type === "key" ? event.chord : ""
    })
    view.type("z")
    await view.settle()
    expect([early, chords(view)]).toEqual(["z", "h i enter ctrl+j"])
  })

  test("after a character whose width terminals disagree about, the cursor is placed anew", async () => {
    let seconds = 1
    // The emulator shows the emoji in one column, so the cursor is not where it is expected.
    const live = () => ({ rows: [`💻 tool ${seconds}s`, `status    ${seconds}s`, "> "], cursor: { row: 2, column: 2 } })
    using view = virtualScreen({ live })
    await view.settle()
    seconds = 2
    view.screen.update("now")
    await view.settle()
    expect(view.rows().slice(1)).toEqual(["status    2s", ">"])
  })

  test.each([1, 2, 3])(
    "resizes erase no printed row where the width of a character is uncertain (seed %i)",
    async (seed) => {
      const random = seededRandom(seed)
      let seconds = 0
      // The emulator shows the emoji in one column.
      const live = ({ columns }: Size) => ({
        rows: [`💻 ${"a long command ".repeat(5)}${seconds}s`.slice(0, columns - 1), "─".repeat(columns), "> draft"],
        cursor: { row: 2, column: 7 },
      })
      using view = virtualScreen({ live })
      view.screen.print(["printed"])
      for (; seconds < 30; seconds += 1) {
        view.screen.update("now")
        await view.settle()
        view.resize(40 + Math.floor(random() * 60), 12 + Math.floor(random() * 20))
        await view.settle()
        expect(view.rows()[0]).toBe("printed")
      }
    },
  )

  test("what other code writes to the terminal is printed above the live area, without its sequences", async () => {
    const direct: string[] = []
    const stream = {
      write: (text: string | Uint8Array): boolean => {
        direct.push(String(text))
        return true
      },
    }
    using view = virtualScreen({
      foreign: [stream],
      live: () => ({ rows: ["status", "> "], cursor: { row: 1, column: 2 } }),
    })
    await view.settle()
    stream.write("one\u{1B}[2J\ttwo\nthr")
    stream.write(Buffer.from("ee\nhalf"))
    await view.settle()
    expect(view.rows()).toEqual(["one    two", "three", "status", ">"])
    await view.screen.release(async () => {
      stream.write("released")
      await Promise.resolve()
    })
    await view.settle()
    expect([view.rows(), direct]).toEqual([["one    two", "three", "half", "status", ">"], ["released"]])
  })

  test("on a terminal that does not mark pasted text, lines that arrive together are pasted, and a typed line is not", async () => {
    using view = virtualScreen({
      traits: { reflow: "none", settleMs: 60, titles: false, marksPastes: false, keyboard: "legacy" },
    })
    view.type("one\rtwo\r")
    await view.settle()
    view.type("typed\r")
    await view.settle()
    expect(view.keys[0]).toEqual({ type: "paste", text: "one\ntwo\n", unmarked: true })
    expect(view.keys.at(-1)).toEqual({ type: "key", chord: "enter", text: expect.any(String) })
  })
})
