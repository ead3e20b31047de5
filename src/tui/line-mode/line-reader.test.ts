import { PassThrough } from "node:stream"

import { afterEach, describe, expect, test } from "vitest"

import { recordingTerminal } from "../../../test/support/cli-home.ts"
import { createScreen } from "../../terminal/live-area.ts"
import type { PromptHistory } from "../prompt-history.ts"
import { openLineReader } from "./line-reader.ts"
import type { LineReader } from "./line-reader.ts"

const opened: LineReader[] = []
afterEach(() => {
  for (const lines of opened.splice(0)) lines.close()
})

const CTRL_C = "\u0003"
const CTRL_D = "\u0004"
const CTRL_R = "\u0012"
const UP = "\u001B[A"
const DOWN = "\u001B[B"
const ENABLE_BRACKETED_PASTE = "\u001B[?2004h"
const DISABLE_BRACKETED_PASTE = "\u001B[?2004l"

/** Pasted text as a terminal with bracketed paste sends it. */
const pasted = (text: string): string => `\u001B[200~${text}\u001B[201~`

function keyboard({ onTerminal = true } = {}) {
  const input = new PassThrough()
  const recording = recordingTerminal(["-"])
  const screen = createScreen({ write: (text) => recording.out(text), columns: recording.columns })
  const terminal = {
    ...recording,
    out: (text: string) => screen.write(text),
    line: (text = "") => screen.write(`${text}\n`),
    live: screen.live,
    movesCursor: true,
    stdoutIsTty: onTerminal,
  }
  const stop = new AbortController()
  const time = { now: 0 }
  const entries: string[] = []
  const history: PromptHistory = { entries: () => entries, add: (text) => void entries.push(text) }
  const lines = openLineReader({
    input,
    terminal,
    signal: stop.signal,
    history,
    hungUp: () => undefined,
    now: () => time.now,
  })
  opened.push(lines)
  return {
    lines,
    stop,
    time,
    entries,
    shown: () => terminal.output().out,
    /** Sends keys together and lets the reader handle them. */
    press: async (keys: string): Promise<void> => {
      input.write(keys)
      for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

const never = new AbortController().signal

describe("at the prompt", () => {
  test("returns lines, including one typed before the prompt", async () => {
    const { lines, press, shown } = keyboard()
    await press("early\r")
    expect(await lines.next("you> ", never)).toBe("early")
    const next = lines.next("\nyou> ", never)
    await press("now\r")
    expect(await next).toBe("now")
    expect(shown()).toContain("you> ")
  })

  test("Tab completes a slash command", async () => {
    const { lines, press } = keyboard()
    const read = lines.next("> ", new AbortController().signal)
    await press("/hel\t\r")
    expect((await read)?.toString().trim()).toBe("/help")
  })

  test("joins lines that arrive together; commands stay separate", async () => {
    const { lines, press } = keyboard()
    await press("one\rtwo\r\rthree\r/help\r/usr/lib\rend\r")
    expect([await lines.next("", never), await lines.next("", never), await lines.next("", never)]).toEqual([
      "one\ntwo\n\nthree",
      "/help",
      "/usr/lib\nend",
    ])
  })

  test("keeps pasted lines until Enter and joins them to one message", async () => {
    const { lines, press, shown } = keyboard()
    expect(shown()).toContain(ENABLE_BRACKETED_PASTE)
    const first = lines.next("you> ", never)
    await press(`look: ${pasted("one\r/help\r\rlast")}`)
    const early = await Promise.race([first, Promise.resolve("nothing yet")])
    await press(" line\r")
    expect([early, await first]).toEqual(["nothing yet", "look: one\n/help\n\nlast line"])
    lines.close()
    expect(shown()).toContain(DISABLE_BRACKETED_PASTE)
  })

  test("Ctrl+C drops pasted lines", async () => {
    const { lines, press } = keyboard()
    const first = lines.next("you> ", never)
    await press(pasted("one\rtwo"))
    await press(CTRL_C)
    await press("other\r")
    expect(await first).toBe("other")
  })

  test("Ctrl+C clears the draft; at the empty prompt a second one within two seconds ends the input", async () => {
    const { lines, press, shown, time } = keyboard()
    const first = lines.next("you> ", never)
    await press("half a tho")
    await press(CTRL_C)
    expect(shown()).not.toContain("Press Ctrl+C again")
    await press(CTRL_C)
    expect(shown()).toContain("Press Ctrl+C again to leave.")
    time.now += 2001
    await press(CTRL_C)
    await press("whole\r")
    expect(await first).toBe("whole")
    const second = lines.next("you> ", never)
    time.now += 2001
    await press(CTRL_C)
    await press(CTRL_C)
    expect(await second).toBe(undefined)
  })

  test.each([
    ["Alt+Enter", "\u001B\r"],
    ["Ctrl+J", "\n"],
    ["Shift+Enter", "\u001B[13;2u"],
    ["a backslash before Enter", "\\\r"],
  ])("%s starts a new line", async (_name, keys) => {
    const { lines, press } = keyboard()
    const next = lines.next("you> ", never)
    await press("one")
    await press(keys)
    await press("two\r")
    expect(await next).toBe("one\ntwo")
  })

  test("two backslashes before Enter are text", async () => {
    const { lines, press } = keyboard()
    const next = lines.next("you> ", never)
    await press(String.raw`C:\\`)
    await press("\r")
    expect(await next).toBe(String.raw`C:\\`)
  })

  test("Up and Down bring back earlier messages and the draft", async () => {
    const { lines, press, entries } = keyboard()
    entries.push("oldest", "first line\nsecond line")
    const next = lines.next("you> ", never)
    await press("draft")
    await press(UP)
    await press(`${UP}${UP}`)
    await press(" x")
    await press(`${DOWN}${DOWN}${DOWN}!\r`)
    expect(await next).toBe("draft!")
  })

  test("Ctrl+R searches earlier messages", async () => {
    const { lines, press, shown, entries } = keyboard()
    entries.push("deploy to staging", "run the tests", "deploy to production")
    const next = lines.next("you> ", never)
    await press(CTRL_R)
    await press("deploy")
    expect(shown()).toContain("(history search) deploy: deploy to production")
    await press(CTRL_R)
    await press("\u001B[C")
    await press(" now\r")
    expect(await next).toBe("deploy to staging now")
  })

  test("returns a line right before the end of input", async () => {
    const { lines, press } = keyboard()
    const first = lines.next("", never)
    await press(`last\r${CTRL_D}`)
    expect([await first, await lines.next("", never)]).toEqual(["last", undefined])
  })

  test("a signal ends the wait", async () => {
    const { lines, stop } = keyboard()
    const next = lines.next("you> ", never)
    stop.abort()
    expect(await next).toBe(undefined)
  })
})

describe("while a turn runs", () => {
  test("sends lines and Ctrl+C to the listener; unused lines can be put back", async () => {
    const { lines, press } = keyboard()
    const seen: string[] = []
    lines.whileBusy({ line: (text) => seen.push(text), interrupt: () => seen.push("^C") })
    await press("a\r")
    await press(CTRL_C)
    await press("b\r")
    lines.whileBusy(undefined)
    await press("c\r")
    lines.putBack(["b"])
    expect([seen, await lines.next("", never), await lines.next("", never)]).toEqual([["a", "^C", "b"], "b", "c"])
  })

  test("typed text is not echoed; the listener receives it", async () => {
    const { lines, press, shown } = keyboard()
    const drafts: string[] = []
    lines.whileBusy({ line: () => undefined, interrupt: () => undefined, draftChanged: (text) => drafts.push(text) })
    await press("half")
    expect([drafts.at(-1), shown().includes("half")]).toEqual(["half", false])
    const next = lines.next("you> ", never)
    expect(shown()).toContain("you> half")
    lines.whileBusy(undefined)
    await press(" done\r")
    expect(await next).toBe("half done")
  })

  test("a question takes the next line and restores the draft", async () => {
    const { lines, press } = keyboard()
    const seen: string[] = []
    lines.whileBusy({ line: (text) => seen.push(text), interrupt: () => seen.push("^C") })
    await press("half")
    const answer = lines.answer("\nReally? ", { secret: false, signal: never })
    await press("yes\r")
    expect(await answer).toBe("yes")
    await press(" done\r")
    expect(seen).toEqual(["half done"])
  })

  test("a pasted line answers a question at once", async () => {
    const { lines, press } = keyboard()
    const answer = lines.answer("Key? ", { secret: true, signal: never })
    await press(pasted("s3cret\r"))
    expect(await answer).toBe("s3cret")
  })

  test("Ctrl+C cancels only the question", async () => {
    const { lines, press } = keyboard()
    const seen: string[] = []
    lines.whileBusy({ line: (text) => seen.push(text), interrupt: () => seen.push("^C") })
    const answer = lines.answer("Really? ", { secret: false, signal: never })
    await press("ye")
    await press(CTRL_C)
    expect(await answer).toBe(undefined)
    await press("x\r")
    expect(seen).toEqual(["x"])
  })

  test("a cancelled question returns undefined", async () => {
    const { lines, press } = keyboard()
    const cancellation = new AbortController()
    const seen: string[] = []
    lines.whileBusy({ line: (text) => seen.push(text), interrupt: () => seen.push("^C") })
    const answer = lines.answer("Really? ", { secret: false, signal: cancellation.signal })
    await press("hal")
    cancellation.abort()
    expect(await answer).toBe(undefined)
    await press("fresh\r")
    expect(seen).toEqual(["fresh"])
    expect(await lines.answer("Again? ", { secret: false, signal: cancellation.signal })).toBe(undefined)
  })
})

describe("text that is returned to the user", () => {
  test("is in the next prompt, where Enter sends it", async () => {
    const { lines, press } = keyboard()
    lines.returnToDraft("make it rhyme")
    const next = lines.next("you> ", never)
    await press(" please\r")
    expect(await next).toBe("make it rhyme please")
  })

  test("comes before what the user has typed, and Ctrl+C drops both", async () => {
    const { lines, press, shown } = keyboard()
    await press("typed")
    lines.returnToDraft("one\ntwo")
    const next = lines.next("you> ", never)
    expect(shown()).toContain("you> one")
    await press("\r")
    expect(await next).toBe("one\ntwo\ntyped")
    lines.returnToDraft("three\nfour")
    const after = lines.next("you> ", never)
    await press(CTRL_C)
    await press("five\r")
    expect(await after).toBe("five")
  })
})

describe("a secret", () => {
  test("is neither shown nor kept in the history", async () => {
    const { lines, press, shown } = keyboard()
    const answer = lines.answer("Key: ", { secret: true, signal: never })
    await press("hunter2\r")
    expect(await answer).toBe("hunter2")
    const next = lines.next("you> ", never)
    await press(`${UP}x\r`)
    expect(await next).toBe("x")
    expect(shown()).toContain("Key: ")
    expect(shown()).not.toContain("hunter2")
  })

  test("is not asked for when the output is not a terminal", async () => {
    const { lines } = keyboard({ onTerminal: false })
    expect(await lines.answer("Key: ", { secret: true, signal: never })).toBe(undefined)
  })
})
