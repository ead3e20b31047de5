import xterm from "@xterm/headless"
import { describe, expect, test } from "vitest"

import { createPlainScreen, createScreen } from "./live-area.ts"

/** A screen on a virtual terminal. */
function virtual(columns = 20) {
  const terminal = new xterm.Terminal({ cols: columns, rows: 8, allowProposedApi: true, convertEol: true })
  const written: string[] = []
  const output = {
    columns,
    write: (text: string) => {
      written.push(text)
      terminal.write(text)
    },
  }
  return {
    ...createScreen(output),
    written,
    resize: (to: number) => {
      output.columns = to
      terminal.resize(to, 8)
    },
    lines: async (): Promise<readonly string[]> => {
      await new Promise<void>((resolve) => terminal.write("", resolve))
      const { active } = terminal.buffer
      const lines = Array.from(
        { length: active.length },
        (_, row) => active.getLine(row)?.translateToString(true) ?? "",
      )
      return lines.slice(0, lines.findLastIndex((line) => line !== "") + 1)
    },
    cursor: (): readonly number[] => [terminal.buffer.active.cursorY, terminal.buffer.active.cursorX],
  }
}

describe("on a terminal", () => {
  test("other output is written above the rows, in one write", async () => {
    const { live, write, written, lines } = virtual()
    live.show(["one", "two"], { row: 0, column: 1 })
    write("output\n")
    expect([await lines(), written.length]).toEqual([["output", "one", "two"], 2])
  })

  test("rows wait while a line of other output is unfinished", async () => {
    const { live, write, lines } = virtual()
    live.show(["busy"])
    write("half ")
    live.show(["still busy"])
    expect(await lines()).toEqual(["half "])
    write("done\n")
    expect(await lines()).toEqual(["half done", "still busy"])
    live.hide()
    expect(await lines()).toEqual(["half done"])
  })

  test("fewer and shorter rows leave nothing behind, and the cursor is where it should be", async () => {
    const { live, lines, cursor } = virtual()
    live.show(["a long row", "another", "third"])
    live.show(["short", "日本"], { row: 1, column: 2 })
    expect([await lines(), cursor()]).toEqual([
      ["short", "日本"],
      [1, 2],
    ])
    live.commit("short")
    expect([await lines(), cursor()]).toEqual([["short"], [1, 0]])
  })

  test("rows at the bottom of the screen scroll it", async () => {
    const { live, write, lines } = virtual()
    for (let line = 1; line <= 8; line += 1) write(`${line}\n`)
    live.show(["a", "b", "c"])
    live.show(["d"])
    expect((await lines()).slice(-3)).toEqual(["7", "8", "d"])
  })

  test("a narrower window has wrapped the rows above the cursor", async () => {
    const { live, write, lines, resize } = virtual(20)
    write("before\n")
    live.show(["123456789012345", "x"])
    resize(10)
    live.show(["1234567890", "12345", "x"])
    expect(await lines()).toEqual(["before", "1234567890", "12345", "x"])
  })
})

test("a terminal that only prints gets no escape sequences", () => {
  let printed = ""
  const { live, write } = createPlainScreen({ write: (text) => void (printed += text) })
  live.show(["you> h"])
  live.show(["you> hx"])
  live.show(["you> h"])
  write("note\n")
  live.show(["you> hi"])
  live.commit("you> hi")
  expect(printed).toBe("you> hx\b \b\nnote\nyou> hi\n")
})
